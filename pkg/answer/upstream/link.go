package upstream

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"

	"github.com/diverge-network/gateway/internal/toolheader"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// dialer makes connections to one server.
type dialer interface {
	// dial opens a connection, without the handshake. ctx bounds only the dialing; log names the server.
	dial(ctx context.Context, log *slog.Logger) (link, error)
	// String names the server without any secret.
	String() string
	// close frees what the dialer holds between connections.
	close()
}

// link is one connection to the server: a transport of the SDK and what belongs around it.
type link interface {
	// read returns the next message; an error is the end of the link.
	read(ctx context.Context) (jsonrpc.Message, error)
	// write sends a message. For a request over HTTP it may last until the answer begins. Errors: *brokenError,
	// *refusedError, *unusableError, or ctx's cause.
	write(ctx context.Context, msg jsonrpc.Message) error
	// negotiated tells which protocol revision is spoken from now on, and by what the arguments are known that travel in
	// headers too.
	negotiated(version string, tools *toolheader.Tools)
	// established follows a handshake. It returns when the server's notifications can be heard, as far as they can.
	established(s *session)
	// streamEach reports whether the messages to one request come on a stream of its own, and a request is given up by
	// ending that.
	streamEach() bool
	// close ends the link; read fails from then on.
	close()
}

func toValidUTF8(b []byte) []byte { return bytes.ToValidUTF8(b, []byte("\uFFFD")) }

func makeID(n int64) jsonrpc.ID {
	id, err := jsonrpc.MakeID(float64(n))
	if err != nil {
		panic(fmt.Sprintf("upstream: the SDK refuses the request id %d: %v", n, err))
	}
	return id
}
