package answer

import (
	"context"
	"errors"

	"github.com/diverge-network/gateway/pkg/codec"
)

// Handler answers what a container asks. Its methods are called from many goroutines at once, one call per ask, and
// must return soon after their context has ended: Server.Run waits for them.
type Handler interface {
	// Answer answers one ask of kinds 0 to 3 (protocol A3). params is the JSON the container sent, checked to be
	// valid JSON of the kind's form (protocol R4: "null" where a listing came without params), and borrowed until
	// Answer returns.
	//
	// A nil error sends result, which must be the JSON of a result. A *codec.Error is sent as it is. Any other error
	// is logged, and the caller is told only that there was one (-32603), since its text may name what a sandboxed
	// agent must not reach. ErrNotServed closes the path without a message (protocol A6).
	//
	// ctx ends when the path ends under the call: nobody waits for the answer any more (protocol A10), or it will be
	// asked again (protocol A5).
	Answer(ctx context.Context, k codec.Kind, params []byte) (result []byte, err error)

	// Notifications runs while the container's kind-4 path is open. Each call of send puts one notification, a JSON
	// object with a method and no id, on the path as one message, in order (protocol N3). send copies what it is given
	// and may block while the gateway does not read; it is safe for concurrent use. It fails with ErrPathEnded once the
	// path has ended.
	//
	// A notification whose send has returned is not overtaken by an answer that is given later. The two go out on
	// different connections; what Answer returned is therefore not sent before all notifications whose send had returned
	// by then are written to the socket and, where the system tells (Linux), acknowledged by the other end of the TCP
	// connection, which is the gateway's host, or a proxy before it. This wait ends after a second: where the gateway, or
	// the network, takes longer, the answer goes out before the rest of the notifications. It ends at once when either
	// path ends. An answer to which no notification is on its way waits for nothing.
	//
	// Returning nil closes the path, an error is sent as the path's last message first: the gateway asks for
	// notifications again only on its next connection (protocol N4). A Handler without notifications therefore waits
	// for ctx to end.
	Notifications(ctx context.Context, send func(notification []byte) error) error
}

// ErrNotServed is returned by a Handler that does not serve what was asked: the path closes cleanly without a message,
// the caller is told so, and is not asked again (protocol A6).
var ErrNotServed = errors.New("the ask is not served")

// ErrPathEnded is what send returns when the notifications path has ended.
var ErrPathEnded = errors.New("the notifications path has ended")
