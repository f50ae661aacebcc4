package answer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diverge-network/gateway/internal/wsock"
)

// DefaultDials is how many handshakes a Fleet whose Dials is zero has under way at once.
const DefaultDials = 64

// Fleet serves every container of one gateway, following the gateway's list of them (protocol G6). Gateway and Handler
// must be set; no field may change once Run was called. All but Handler and Dials mean what they mean in a Server, for
// every container.
type Fleet struct {
	Gateway string

	// Handler makes what answers one container. It is called with the container's first ask, so that one that asks
	// nothing costs nothing, from many goroutines at once, and should return soon. An error is the answer to that ask, as
	// if Handler.Answer had returned it, and the next ask makes the Fleet call again.
	//
	// When the container has gone, or Run ends, and the last call of h has returned, release is called, once; it may be
	// nil. A container that comes again gets another h, which may be made before the former is released.
	Handler func(container string) (h Handler, release func(), err error)

	Header     http.Header
	Token      func(ctx context.Context) (string, error)
	TLS        *tls.Config
	MaxMessage int
	Drain      time.Duration
	Logger     *slog.Logger
	Hooks      Hooks

	// Dials is how many handshakes are under way at once, over all containers: those of the sockets that each container
	// has, not those of paths for single answers, which their callers pace. 0: DefaultDials.
	Dials int

	counters fleetCounters
	server   Server // what the containers' runs have in common, counters among it
	openList func(context.Context) (io.ReadCloser, error)
}

// Run follows the list and serves every container on it until ctx ends. A container that went is left as Server.Run ends:
// /requests is closed cleanly, running calls have Drain. When the list breaks off nothing is left: Run asks for it again
// after a growing, jittered wait, and leaves what the new list, once it is complete, does not name. Connections for asks
// that break meanwhile wait for the list to name their container again, so that a gateway that restarts is not run down
// by thousands of attempts.
//
// It returns an error at once if the Fleet's fields make no sense, and nil after ctx ended, when every call of every
// Handler has returned and every release too. A Fleet is run once.
func (f *Fleet) Run(ctx context.Context) error {
	base, err := baseURL("Fleet", f.Gateway)
	switch {
	case f.Handler == nil:
		return errors.New("answer: Fleet.Handler is not set")
	case err != nil:
		return err
	case f.Dials < 0:
		return fmt.Errorf("answer: Fleet.Dials is %d", f.Dials)
	}
	s := &f.server
	s.Token = f.Token
	s.Header, s.TLS, s.MaxMessage, s.Drain, s.Logger, s.Hooks = f.Header, f.TLS, f.MaxMessage, f.Drain, f.Logger, f.Hooks
	log := s.logger()
	r := &fleet{Fleet: f, ctx: ctx, base: base, log: log, members: make(map[string]*member)}
	doubts := &doubts{ctx: ctx, knock: r.knock, spread: r.doubt}
	defer doubts.end()
	r.socket, r.listens, r.notifies = s.sockets(log, doubts, r.quiet)
	r.pace.free = f.Dials
	if f.Dials == 0 {
		r.pace.free = DefaultDials
	}
	r.follow()
	r.leaveAll()
	return nil
}

// fleet is one call of Fleet.Run, in whose goroutine the list is followed. It has a member for each container. Locks: mu
// before those of pace and of a member's run.
type fleet struct {
	*Fleet
	ctx      context.Context
	base     string
	log      *slog.Logger
	socket   *wsock.Config
	listens  *wsock.Config
	notifies *wsock.Config
	hush     hush
	pace     pace

	ending sync.WaitGroup // members that are being left

	mu      sync.Mutex
	members map[string]*member // the newest of each id, until its /requests has ended
	list    list               // that is followed
}

// came makes sure that a container that is on the list is served.
func (f *fleet) came(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.members[id]
	switch {
	case m == nil:
		f.members[id] = f.enter(id, noFormer)
	case m.leaving:
		f.members[id] = f.enter(id, m.silent)
	default:
		m.listed = true
		m.queue()
	}
}

// went leaves a container that is not on the list any more.
func (f *fleet) went(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.members[id]; m != nil && !m.leaving {
		m.leave()
	}
}

// forget is for a container that went before the list was complete.
func (f *fleet) forget(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.members[id]; m != nil {
		m.listed = false
	}
}

// forgetAll is for a list that has ended.
func (f *fleet) forgetAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counters.following.Store(false)
	f.pace.recall()
	for _, m := range f.members {
		m.listed = false
	}
}

// complete leaves what the list did not name.
func (f *fleet) complete() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counters.following.Store(true)
	kept, left := 0, 0
	for _, m := range f.members {
		switch {
		case m.leaving:
		case m.listed:
			kept++
		default:
			left++
			m.leave()
		}
	}
	f.log.Info("serving the gateway's containers", "containers", kept, "left", left)
}

func (f *fleet) leaveAll() {
	f.mu.Lock()
	for _, m := range f.members {
		if !m.leaving {
			m.leave()
		}
	}
	f.mu.Unlock()
	f.ending.Wait()
	f.log.Info("stopped serving the gateway's containers")
}

// quiet is how long each /requests connection may be quiet: many take turns, so that there is a ping soon after the gateway
// has gone, and not many while it is there.
func (f *fleet) quiet() time.Duration {
	return max(leastQuiet, time.Duration(f.counters.containers.Load())*time.Second/pingsPerSecond)
}

// doubt has the gateway asked now whether it is still there, on every socket that lasts.
func (f *fleet) doubt() {
	f.mu.Lock()
	members := slices.Collect(maps.Values(f.members))
	f.mu.Unlock()
	for _, m := range members {
		m.run.doubt()
	}
}

// knock makes the gateway answer something, for whichever container.
func (f *fleet) knock(ctx context.Context) error {
	r := run{Server: &f.server, base: containerURL(f.base, "default"), socket: f.socket}
	return r.knock(ctx)
}

// listURL is where the list is, in the scheme of plain HTTP.
func (f *fleet) listURL() (*url.URL, error) {
	u, err := url.Parse(f.base + "/containers")
	if err != nil {
		return nil, err
	}
	u.Scheme = "http" + strings.TrimPrefix(u.Scheme, "ws")
	return u, nil
}
