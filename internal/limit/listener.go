package limit

import (
	"net"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
)

// listener is a net.Listener that admits by a Rate.
type listener struct {
	net.Listener
	rate     *Rate
	response []byte
	refused  func()
}

// Listen returns ln without the connections that rate does not admit. Those get
// the response, as far as that can be written without waiting and without having
// read anything, and are closed; refused is told of each. A nil response is none,
// for a listener whose protocol does not begin in the clear.
func Listen(ln net.Listener, rate *Rate, response []byte, refused func()) net.Listener {
	return &listener{Listener: ln, rate: rate, response: response, refused: refused}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, from, err := sock.AcceptFrom(l.Listener)
		if err != nil || l.rate.Admit(from, time.Now()) {
			return conn, err
		}
		l.refuse(conn)
	}
}

func (l *listener) refuse(conn net.Conn) {
	l.refused()
	if l.response != nil {
		_, _ = sock.Wrap(conn).TryWrite(l.response) // whether it arrives or not
	}
	_ = conn.Close()
}
