package answer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/answer/internal/backoff"
	"github.com/diverge-network/gateway/pkg/codec"
)

const (
	// leastQuiet is how long nothing may come on /requests until we ping, and pong how long there is for an answer before
	// there is doubt.
	leastQuiet = time.Second
	pong       = time.Second
	// pingsPerSecond is how many pings a fleet sends, at most, over all its /requests connections while the gateway lives.
	pingsPerSecond = 100
	// notificationsQuiet is the same for the notifications path: longer than between a gateway's own pings, which it has if
	// /requests has them.
	notificationsQuiet = 40 * time.Second
	// grace is how long a silent socket has, at least, after the gateway has answered on another.
	grace = 500 * time.Millisecond
)

// doubts are about sockets on which the gateway does not answer a ping. Such a socket may lead nowhere any more, although
// nothing has ended it; or the gateway, or this machine, is busy, and ending it would make that worse. So the gateway is
// asked something on a new connection: a socket that is silent still when it has answered there, and as long again, is
// given up, and all others are doubted with it. While it does not answer there either, a new connection would be no better,
// and nothing is given up.
type doubts struct {
	ctx    context.Context             // ends asking
	knock  func(context.Context) error // asks; nil: it has answered
	spread func()                      // doubts all sockets

	mu      sync.Mutex
	silent  map[wsock.Silence]bool
	asking  bool
	ended   bool
	running sync.WaitGroup
}

// raise is wsock.Watch.Silent.
func (d *doubts) raise(s wsock.Silence) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return
	}
	if d.silent == nil {
		d.silent = make(map[wsock.Silence]bool)
	}
	d.silent[s] = true
	if !d.asking {
		d.asking = true
		d.running.Go(d.ask)
	}
}

// ask settles doubts until there are none.
func (d *doubts) ask() {
	for {
		silent := d.take()
		if silent == nil {
			return
		}
		began := time.Now()
		if d.knock(d.ctx) != nil {
			continue // who is silent still will be doubted again
		}
		backoff.Wait(d.ctx, max(grace, time.Since(began)))
		gone := false
		for s := range silent {
			gone = s.GiveUp() || gone
		}
		if gone {
			d.spread()
		}
	}
}

func (d *doubts) take() (silent map[wsock.Silence]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	silent, d.silent = d.silent, nil
	d.asking = silent != nil && !d.ended
	if !d.asking {
		return nil
	}
	return silent
}

// end ends asking, and waits for it.
func (d *doubts) end() {
	d.mu.Lock()
	d.ended = true
	d.mu.Unlock()
	d.running.Wait()
}

// knock has the gateway refuse a path that there never is: no ask has the channel 0 (protocol R2).
func (r *run) knock(ctx context.Context) error {
	sock, err := r.open(ctx, string(codec.AppendPath([]byte(r.base), codec.CallTool, 0)), r.socket)
	var refused *wsock.RefusedError
	if errors.As(err, &refused) {
		return nil
	}
	if err == nil {
		sock.Cut()
	}
	return err
}
