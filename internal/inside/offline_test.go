package inside

import (
	"net"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
)

// offline is a connection whose requests the test reads by itself.
func (w *world) offline() *offline {
	conn, peer := net.Pipe()
	w.t.Cleanup(func() { _ = conn.Close(); _ = peer.Close() })
	return &offline{w: w, client: &connection{handler: w.handler, conn: sock.Wrap(conn)}}
}

type offline struct {
	w      *world
	client *connection
	sent   []byte
	unread unread
}

// request is a request as it is before it is served, its body still unread.
func (o *offline) request(head []byte, body string) *exchange {
	x := takeExchange(o.client)
	in := o.client.takeReader(time.Time{}, 0)
	o.sent = append(append(o.sent[:0], head...), body...)
	o.unread = o.sent
	in.Reset(&o.unread)
	if refused, cause := o.client.readHead(&x.request.Header); refused != "" {
		o.w.t.Fatal(refused, cause)
	}
	x.parsed = true
	return x
}

// unread is what has arrived.
type unread []byte

func (u *unread) Read(p []byte) (int, error) {
	n := copy(p, *u)
	*u = (*u)[n:]
	return n, nil
}
