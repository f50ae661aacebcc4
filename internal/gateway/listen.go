package gateway

import (
	"context"
	"net"

	"github.com/diverge-network/gateway/internal/sock"
)

// listen opens the listener. A host name is judged by the address that was bound, so that what it resolves to cannot
// change in between.
func (l listener) listen(ctx context.Context, protected bool) (net.Listener, error) {
	ln, err := sock.Listen(ctx, l.address)
	if err != nil {
		return nil, &ListenError{Flag: l.flag, Address: l.address, Err: err}
	}
	if l.spares > 0 {
		sock.Spare(ln, l.spares)
	}
	if !onLoopback(ln) {
		if err := l.judgeReach(protected); err != nil {
			_ = ln.Close()
			return nil, err
		}
	}
	return ln, nil
}

// onLoopback tells a listener that only this machine reaches.
func onLoopback(ln net.Listener) bool {
	tcp, ok := ln.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
