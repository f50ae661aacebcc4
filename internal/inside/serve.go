package inside

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
)

// ErrStopped is returned by Serve once Shutdown has been called.
var ErrStopped = errors.New("inside: the handler was shut down")

// Serve accepts connections from ln until Shutdown, and then returns nil. It
// owns ln and closes it. An accept that fails for want of file descriptors or
// memory is tried again; any other failure of the listener is returned.
func (h *Handler) Serve(ln net.Listener) error {
	if !h.listensOn(ln) {
		_ = ln.Close()
		return ErrStopped
	}
	defer h.running.Done()
	defer h.dropListener(ln)
	return sock.Accept(ln, h.stopping, h.log, func(conn net.Conn) {
		if !h.roster.arrive(conn) {
			_ = conn.Close()
			return
		}
		h.running.Add(1)
		go h.speak(conn)
	})
}

// listensOn enters a listener; false if none is taken any more.
func (h *Handler) listensOn(ln net.Listener) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped() {
		return false
	}
	h.listeners[ln] = struct{}{}
	h.running.Add(1)
	return true
}

func (h *Handler) dropListener(ln net.Listener) {
	_ = ln.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, ln)
}

func (h *Handler) stopped() bool {
	select {
	case <-h.stopping:
		return true
	default:
		return false
	}
}

// speak speaks HTTP on one connection until it ends or becomes an event stream.
func (h *Handler) speak(nc net.Conn) {
	defer h.running.Done()
	defer h.roster.depart(nc)
	defer func() {
		if value := recover(); value != nil {
			h.panicked(PanicRequest, value, debug.Stack())
			_ = nc.Close()
		}
	}()
	conn := h.secure(nc)
	if conn == nil {
		_ = nc.Close()
		return
	}
	c := &connection{handler: h, conn: conn}
	handOver := c.converse()
	c.dropReader() // nothing counts that a client sends behind the request for a stream
	if handOver == nil {
		_ = conn.Close()
		return
	}
	h.roster.depart(nc)
	h.stream(conn, handOver)
}

// secure speaks TLS on a connection, if that is spoken here. It returns nil where
// the client does not.
func (h *Handler) secure(nc net.Conn) *sock.Conn {
	if h.cfg.TLS == nil {
		return sock.Wrap(nc)
	}
	conn, err := sock.ServeTLS(nc, h.cfg.TLS(), h.pace.head)
	if err == nil {
		return conn
	}
	if !errors.Is(err, io.EOF) && !h.stopped() { // a look at the port is none
		h.observer.Refused(Listener, string(ReasonTLS))
		h.logRefused(refusalFor(ReasonTLS), err.Error(), nc, nil)
	}
	return nil
}

// Shutdown closes the listeners and the event streams, and waits until the
// requests that have arrived are answered: those that wait for an answer get one
// from mux.Mux.Stop, which is the caller's to call. A client that has not taken
// its response within pace.cut is cut. When it returns nil every goroutine of
// the handler has ended. When ctx ends first, the connections are cut, and its
// error is returned. Further calls do the same wait.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.closeListeners()
	for _, e := range h.roster.close() {
		e.face.shut(e)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		h.running.Wait()
		h.ring.Close()
	}()
	late := time.NewTimer(h.pace.cut)
	defer late.Stop()
	for {
		select {
		case <-gone:
			return nil
		case <-late.C:
			if n := h.roster.cut(); n > 0 {
				h.log.Warn("cut connections whose clients did not take their responses", "connections", n, "after", h.pace.cut)
			}
		case <-ctx.Done():
			h.roster.cut()
			return ctx.Err()
		}
	}
}

func (h *Handler) closeListeners() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.stopped() {
		close(h.stopping)
	}
	for ln := range h.listeners {
		_ = ln.Close()
	}
}
