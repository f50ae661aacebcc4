package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// hush has the clients begin nothing for a while.
type hush struct {
	mu    sync.Mutex
	quiet chan struct{} // closed while it is quiet; nil: nobody has asked yet
	loud  chan struct{} // closed while it is not
}

// both are the two channels, of which one is closed.
func (h *hush) both() (quiet, loud <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.make()
	return h.quiet, h.loud
}

func (h *hush) make() {
	if h.quiet == nil {
		h.quiet, h.loud = make(chan struct{}), make(chan struct{})
		close(h.loud)
	}
}

func (h *hush) now() bool {
	quiet, _ := h.both()
	select {
	case <-quiet:
		return true
	default:
		return false
	}
}

// begin and end are called in turn.
func (h *hush) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.make()
	close(h.quiet)
	h.loud = make(chan struct{})
}

func (h *hush) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.loud)
	h.quiet = make(chan struct{})
}

// stallFor is how long a reader stalls: the notifications fill the buffers below it in less, and the gateway bears it for
// streamStall then.
const stallFor = 60 * time.Second

// stall has one container after the other open an event stream that it does not read.
func (f *fleet) stall(ctx context.Context) {
	for ctx.Err() == nil {
		_, loud := f.hushed.both()
		select {
		case <-loud:
		case <-ctx.Done():
			return
		}
		f.entrance <- struct{}{}
		c := &container{fleet: f, id: fmt.Sprintf("s%d", f.born.Add(1))}
		err := f.persist(ctx, c.id+": initialize", func() (err error) {
			c.session, err = f.endpoint.initialize(ctx, c.id)
			return err
		})
		<-f.entrance
		if err != nil {
			return
		}
		f.tally.note(func(r *report) { r.Stalling++ })
		if err := c.stallOnce(ctx); err != nil && ctx.Err() == nil {
			f.tally.faults.add("%s, which does not read: %v", c.id, err)
		}
		c.leaveStalled(ctx)
		f.tally.note(func(r *report) { r.Stalling-- })
	}
}

func (c *container) leaveStalled(ctx context.Context) {
	_ = c.persist(ctx, c.id+": DELETE", func() error { return c.endpoint.end(ctx, c.id, c.session) })
}

// stallOnce opens an event stream and does not read it until the gateway must have ended it. What else the container does
// is not affected.
func (c *container) stallOnce(ctx context.Context) error {
	conn, err := c.unreading(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if !c.call(ctx) {
		return errors.New("its call was not answered")
	}
	quiet, _ := c.hushed.both()
	whole := time.NewTimer(stallFor)
	defer whole.Stop()
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		return nil
	case <-whole.C:
	}
	if !c.call(ctx) {
		return errors.New("its call was not answered while it stalled")
	}
	if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err = io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("its stream is still open after %v", stallFor)
	}
	c.tally.note(func(r *report) { r.Stalled++ })
	return nil
}

// unreading opens the event stream, and has read its head.
func (c *container) unreading(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 10 * time.Second, Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = takesLittle(fd) })
		return errors.Join(err, failed)
	}}
	conn, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(c.endpoint.base, "http://"))
	if err != nil {
		return nil, err
	}
	r, err := c.endpoint.request(ctx, http.MethodGet, c.id, c.session, nil)
	if err == nil {
		err = r.Write(conn)
	}
	var response *http.Response
	if err == nil {
		response, err = http.ReadResponse(bufio.NewReaderSize(conn, 16), nil)
	}
	if err == nil && response.StatusCode != http.StatusOK {
		err = &statusError{response.StatusCode, response.Status}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
