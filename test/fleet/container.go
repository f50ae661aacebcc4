package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// hang is how long a call may take.
	hang = 30 * time.Second
	// leastPause and mostPause are between attempts that fail.
	leastPause = 100 * time.Millisecond
	mostPause  = 500 * time.Millisecond
)

// container is the MCP client of one container: a session, an event stream that is kept open, and calls.
type container struct {
	*fleet
	id       string
	session  string
	came     time.Time
	sequence atomic.Uint64 // of the last call, which is also its JSON-RPC id
	numbers  numbers

	deafen    context.CancelFunc // ends the event stream
	listening sync.WaitGroup

	// calls are begun while mu is held and leaving is not set.
	mu      sync.Mutex
	leaving bool
	calls   sync.WaitGroup
}

// come brings a container to where it is served: session, stream, first call. It fails only with ctx.
func (f *fleet) come(ctx context.Context, id string) (*container, error) {
	c := &container{fleet: f, id: id}
	err := f.persist(ctx, id+": initialize", func() (err error) {
		c.session, err = f.endpoint.initialize(ctx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	opened := make(chan struct{})
	streaming, deafen := context.WithCancel(ctx)
	c.deafen = deafen
	c.listening.Go(func() { c.listen(streaming, opened) })
	select {
	case <-opened:
	case <-ctx.Done():
	}
	for !c.call(ctx) {
		pause(ctx)
		if ctx.Err() != nil {
			c.silence()
			return nil, ctx.Err()
		}
	}
	c.came = time.Now()
	return c, nil
}

// leave ends what the container has, once its calls are answered.
func (c *container) leave(ctx context.Context) {
	c.mu.Lock()
	c.leaving = true
	c.mu.Unlock()
	c.calls.Wait()
	c.silence()
	_ = c.persist(ctx, c.id+": DELETE", func() error {
		err := c.endpoint.end(ctx, c.id, c.session)
		var status *statusError
		if errors.As(err, &status) && status.status == http.StatusNotFound && c.phases.mark().phase != steady {
			return nil // it had arrived before the restart cut it off
		}
		return err
	})
}

func (c *container) silence() {
	c.deafen()
	c.listening.Wait()
}

// persist makes attempts until one succeeds or ctx ends. One that fails is a fault, unless a restart excuses it.
func (f *fleet) persist(ctx context.Context, what string, attempt func() error) error {
	for ctx.Err() == nil {
		mark := f.phases.mark()
		err := attempt()
		switch {
		case err == nil:
			return nil
		case ctx.Err() == nil && !f.phases.excuses(mark):
			f.tally.faults.add("%s: %v", what, err)
		}
		pause(ctx)
	}
	return ctx.Err()
}

func pause(ctx context.Context) {
	timer := time.NewTimer(leastPause + rand.N(mostPause-leastPause))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// begin makes one call in a goroutine of its own; false if the container is leaving.
func (c *container) begin(ctx context.Context) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving {
		return false
	}
	c.calls.Go(func() { c.call(ctx) })
	return true
}

// call makes one call, judges how it ended, and reports whether it was answered.
func (c *container) call(parent context.Context) (ok bool) {
	sequence := c.sequence.Add(1)
	words := fmt.Sprintf("%s call %d", c.id, sequence)
	c.tally.note(func(r *report) { r.Running++ })
	mark, began := c.phases.mark(), time.Now()
	ctx, cancel := context.WithTimeout(parent, hang)
	defer cancel()
	id, said, err := c.endpoint.say(ctx, c.id, c.session, sequence, words)
	took := time.Since(began)

	var ended func(*report)
	var clear *rpcError
	switch {
	case parent.Err() != nil:
		c.tally.note(func(r *report) { r.Running-- })
		return false
	case err != nil && ctx.Err() != nil:
		c.tally.faults.add("%q hung: no answer within %v", words, hang)
		ended = func(r *report) { r.Hung++ }
	case (err == nil || errors.As(err, &clear)) && (id != sequence || err == nil && said != words):
		c.tally.faults.add("%q got the answer %q with id %d (%v)", words, said, id, err)
		ended = func(r *report) { r.Wrong++ }
	case err == nil:
		c.tally.answered(took, c.phases.calm(mark))
		ok = true
		ended = func(*report) {}
	case c.phases.excuses(mark) && !errors.As(err, new(*unreadableError)):
		ended = func(r *report) { count(r.Failed, kindOf(err)) }
	default:
		c.tally.faults.add("%q failed after %v: %v", words, took, err)
		ended = func(*report) {}
	}
	c.tally.note(func(r *report) {
		r.Running--
		r.Calls++
		ended(r)
	})
	return ok
}

// listen keeps the event stream open until ctx ends. It closes opened when it is open for the first time.
func (c *container) listen(ctx context.Context, opened chan struct{}) {
	for first := true; ctx.Err() == nil; first = false {
		var stream io.ReadCloser
		var mark moment
		err := c.persist(ctx, c.id+": event stream", func() (err error) {
			mark = c.phases.mark()
			stream, err = c.endpoint.listen(ctx, c.id, c.session)
			return err
		})
		if err != nil {
			return
		}
		c.numbers.connected()
		c.tally.note(func(r *report) {
			r.Streams++
			if !first {
				r.Reopened++
			}
		})
		if first {
			close(opened)
		} else {
			// A gateway that was restarted asks for notifications only after the container's first exchange (protocol N1).
			c.begin(ctx)
		}
		err = c.hear(stream)
		_ = stream.Close()
		c.tally.note(func(r *report) { r.Streams-- })
		if ctx.Err() == nil && !c.phases.excuses(mark) {
			c.tally.faults.add("%s: the event stream ended: %v", c.id, err)
		}
	}
}

// wholeLines is bufio.ScanLines, except that a line which the end of the stream cuts off is none: a stream is left in the
// midst of an event.
func wholeLines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if bytes.IndexByte(data, '\n') < 0 {
		return 0, nil, nil
	}
	return bufio.ScanLines(data, atEOF)
}

// hear reads a stream to its end.
func (c *container) hear(stream io.Reader) error {
	events := bufio.NewScanner(stream)
	events.Buffer(make([]byte, 0, 512), 64<<10)
	events.Split(wholeLines)
	for events.Scan() {
		data, ok := bytes.CutPrefix(events.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		var n struct {
			Method string `json:"method"`
			Params struct {
				Data uint64 `json:"data"`
			} `json:"params"`
		}
		err := json.Unmarshal(data, &n)
		switch {
		case err == nil && n.Method == "notifications/message":
			h := c.numbers.hear(n.Params.Data)
			c.tally.hears(c.id, n.Params.Data, h, c.phases.mark().phase != steady)
		default:
			c.tally.faults.add("%s heard %d bytes, %.60q to %.60q (%v)", c.id, len(data), data, data[max(0, len(data)-60):], err)
		}
	}
	if err := events.Err(); err != nil {
		return err
	}
	return io.EOF
}
