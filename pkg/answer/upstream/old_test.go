package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// old is a server on standard input and output from before there was a question for the era.
func old(role string) int {
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := errors.Join(err, json.Unmarshal(line, &m)); err != nil {
		return 1
	}
	rest := io.MultiReader(bytes.NewReader(line), in)
	if m.Method != methodInitialize {
		rest = in
		switch role {
		case "brittle":
			fmt.Fprintln(os.Stderr, "expected initialize")
			return 1
		case "confused":
			fmt.Println(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"what?"}}`)
		case "choking":
			_, _ = io.Copy(io.Discard, in)
			return 1
		}
	}
	server := newServer(nil)
	if err := server.Run(context.Background(), &mcp.IOTransport{Reader: io.NopCloser(rest), Writer: os.Stdout}); err != nil {
		return 1
	}
	return 0
}
