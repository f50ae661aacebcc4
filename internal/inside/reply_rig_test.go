package inside

import (
	"net"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/pkg/codec"
)

// exchange is one whose client is at conn; nil is somebody who does nothing.
func (w *world) exchange(conn *sock.Conn) *exchange {
	if conn == nil {
		ours, theirs := net.Pipe()
		w.t.Cleanup(func() { _ = ours.Close(); _ = theirs.Close() })
		conn = sock.Wrap(ours)
	}
	return takeExchange(&connection{handler: w.handler, conn: conn})
}

// reply is one of container c1 that is not pooled.
func (w *world) reply(conn *sock.Conn) *reply {
	return w.handler.batchReply(w.exchange(conn), there(w.mux.Container("c1")), 1)
}

// dummy is a call of the reply that waits, of which nobody was asked.
func (r *reply) dummy() *call {
	c := takeCall(r, &asking{era: legacy, kind: codec.ListTools, message: codec.Message{ID: []byte("1")}})
	r.calls = append(r.calls, c)
	r.waiting++
	return c
}
