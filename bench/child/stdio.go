//go:build linux

package child

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// stdioRole is the fastest MCP server there is on standard input and output: it answers each line, one after the other, and
// stops no proxy that is put in front of it.
func stdioRole(context.Context, []string, func(Addresses)) error {
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				ProtocolVersion string `json:"protocolVersion"`
			} `json:"params"`
		}
		if err := json.Unmarshal(line, &message); err != nil {
			return fmt.Errorf("a line that is no JSON: %w", err)
		}
		if message.ID != nil {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", message.ID, stdioAnswer(message.Method, message.Params.ProtocolVersion))
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

func stdioAnswer(method, revision string) string {
	switch method {
	case "initialize":
		return fmt.Sprintf(`"result":{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"stdio","version":"1"}}`, revision)
	case "ping":
		return `"result":{}`
	case "tools/list":
		return `"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		return `"result":{"content":[{"type":"text","text":"` + echoText + `"}]}`
	case "resources/list":
		return `"result":{"resources":[]}`
	case "resources/templates/list":
		return `"result":{"resourceTemplates":[]}`
	case "prompts/list":
		return `"result":{"prompts":[]}`
	default:
		return `"error":{"code":-32601,"message":"not served"}`
	}
}

// StdioCommand is the command line of a stdio role.
func StdioCommand() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return "env " + roleVar + "=stdio " + self, nil
}
