package outside

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/internal/wsock"
)

// ErrStopped is returned by Serve once Shutdown has been called.
var ErrStopped = errors.New("outside: the handler was shut down")

// Serve accepts connections from ln until Shutdown, and then returns nil. It
// owns ln and closes it. An accept that fails for want of file descriptors or
// memory is tried again; any other failure of the listener is returned.
func (h *Handler) Serve(ln net.Listener) error {
	h.mu.Lock()
	if h.stopped() {
		h.mu.Unlock()
		_ = ln.Close()
		return ErrStopped
	}
	h.listeners[ln] = struct{}{}
	h.running.Add(1)
	h.mu.Unlock()
	defer h.running.Done()
	defer func() {
		_ = ln.Close()
		h.mu.Lock()
		delete(h.listeners, ln)
		h.mu.Unlock()
	}()

	return sock.Accept(ln, h.stopping, h.log.With("listener", Listener), h.arrive)
}

// arrive begins to speak HTTP on a connection.
func (h *Handler) arrive(nc net.Conn) {
	a := takeArrival(h, nc)
	if !h.roster.arrive(a) {
		a.cut()
		a.release()
		return
	}
	h.serveArrival(a)
}

func (h *Handler) stopped() bool {
	select {
	case <-h.stopping:
		return true
	default:
		return false
	}
}

// Shutdown closes the listeners and ends every connection: /requests sockets
// with a Close of status 1001, answer paths without a Close, which would state
// that their asks are not served (protocol A6), and lists of containers. When it returns nil no
// connection is left, and no goroutine that does more than return. When ctx ends
// first, the connections that are left are cut, and its error is returned. A
// further call waits for the same.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	if !h.stopped() {
		close(h.stopping)
	}
	for ln := range h.listeners {
		_ = ln.Close()
	}
	h.mu.Unlock()

	h.roster.close()
	open, lingering := h.roster.all()
	// Connections first: nothing that an answer path leaves unanswered is to be
	// asked again on one of them.
	for _, m := range open {
		if _, ok := m.socket.(*requests); ok {
			m.socket.stop()
		}
	}
	for _, m := range open {
		if _, ok := m.socket.(*requests); !ok {
			m.socket.stop()
		}
	}
	h.roster.cutArrivals()
	h.cut(lingering)
	err := h.drain(ctx)
	h.sockets.Stacks.Close()
	if h.sockets.Ring != nil {
		h.sockets.Ring.Close()
	}
	return err
}

// drain waits until no connection is left. Those whose peers do not answer a
// Close are cut after a while, and all are when ctx ends.
func (h *Handler) drain(ctx context.Context) error {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		<-h.roster.empty
		h.running.Wait()
	}()
	farewell := time.NewTimer(lingerWait)
	defer farewell.Stop()
	for {
		select {
		case <-gone:
			return nil
		case <-farewell.C:
			h.cutAll()
		case <-ctx.Done():
			h.cutAll()
			return ctx.Err()
		}
	}
}

func (h *Handler) cutAll() {
	open, lingering := h.roster.all()
	for _, m := range open {
		m.socket.cut()
	}
	h.cut(lingering)
}

func (h *Handler) cut(lingering []*member) {
	for _, m := range lingering {
		m.socket.cut()
		h.roster.leave(m)
	}
}

// opened counts a socket of a container, and logs it.
func (h *Handler) opened(label, container string) {
	h.observer.SocketOpened(label)
	if h.log.Enabled(context.Background(), slog.LevelDebug) {
		h.log.Debug("a socket opened", "listener", Listener, "container", container, "path", label)
	}
}

// ended takes a socket that has ended off the roster.
func (h *Handler) ended(m *member, label, container string, e wsock.Ending) {
	leave := h.roster.leave
	if e.Lingers {
		leave = h.roster.linger
	}
	defer leave(m)
	h.observer.SocketClosed(label)
	if h.log.Enabled(context.Background(), slog.LevelDebug) {
		attrs := []any{"listener", Listener, "container", container, "path", label, "clean", e.Clean}
		if e.Cause != nil {
			attrs = append(attrs, "cause", e.Cause)
		}
		h.log.Debug("a socket ended", attrs...)
	}
}
