package answer

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"

	"github.com/diverge-network/gateway/pkg/codec"
)

var errNoHandler = errors.New("the server has nothing that answers this container")

// member is a container that a fleet serves: its run, the admission of it, and the Handler that it has made when it is
// first asked.
type member struct {
	fleet *fleet
	id    string
	run   run
	mute  context.CancelFunc // ends run.listening
	after <-chan struct{}    // closed when the id's former member is silent

	// Guarded by fleet.mu.

	listed  bool          // the list that is followed now has it
	leaving bool          // leave was called
	silent  chan struct{} // made by leave; closed when /requests has ended
	visit   *visit        // of the handshake for /requests that is due; it is queued once listed

	making  sync.Mutex // held while the Handler is made
	made    Handler
	release func()
}

// noFormer is silent: there was no former member.
var noFormer = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// enter begins to serve a container, once the former member of its id is silent. Called with mu held.
func (f *fleet) enter(id string, after <-chan struct{}) *member {
	m := &member{fleet: f, id: id, after: after, listed: true}
	m.run = run{
		Server:    &f.server,
		handler:   m,
		base:      containerURL(f.base, id),
		log:       f.log.With("container", id),
		socket:    f.socket,
		listens:   f.listens,
		notifies:  f.notifies,
		admission: m,
		hush:      &f.hush,
		silent:    f.suspectList,
	}
	if after == noFormer {
		m.visit = newVisit() // here, so that the queue has the list's order
		m.queue()
	}
	f.counters.came.Add(1)
	f.counters.containers.Add(1)
	listening, mute := context.WithCancel(f.ctx)
	m.mute = mute
	m.run.start(listening)
	return m
}

// leave ends serving the container, in a goroutine of its own. Called with fleet.mu held.
func (m *member) leave() {
	m.leaving = true
	m.silent = make(chan struct{})
	m.fleet.counters.went.Add(1)
	m.fleet.ending.Go(m.end)
}

func (m *member) end() {
	m.mute()
	m.run.silence()
	<-m.after // the next of this id waits for us only
	close(m.silent)
	m.fleet.mu.Lock()
	if m.fleet.members[m.id] == m {
		delete(m.fleet.members, m.id)
	}
	m.fleet.mu.Unlock()
	m.run.drain()
	m.releaseHandler()
	m.fleet.counters.containers.Add(-1)
}

// queue has the handshake that is due wait its turn, if the container is listed. Called with fleet.mu held.
func (m *member) queue() {
	if m.listed && m.visit != nil && !m.visit.queued {
		m.visit.queued = true
		m.fleet.pace.queueLine(m.visit)
	}
}

// admitLine implements admission. It waits until the list has the container: while it cannot be followed there is most
// likely no gateway.
func (m *member) admitLine(ctx context.Context) bool {
	select {
	case <-m.after:
	case <-ctx.Done():
		return false
	}
	m.fleet.mu.Lock()
	if m.visit == nil {
		m.visit = newVisit()
		m.queue()
	}
	visit := m.visit
	m.fleet.mu.Unlock()
	admitted := m.fleet.pace.await(ctx, visit)
	m.fleet.mu.Lock()
	m.visit = nil
	m.fleet.mu.Unlock()
	return admitted
}

// admitPath implements admission.
func (m *member) admitPath(ctx context.Context) bool {
	visit := newVisit()
	m.fleet.pace.queuePath(visit)
	return m.fleet.pace.await(ctx, visit)
}

// handshaken implements admission.
func (m *member) handshaken() { m.fleet.pace.leave() }

// Answer implements Handler.
func (m *member) Answer(ctx context.Context, k codec.Kind, params []byte) ([]byte, error) {
	h, err := m.handler()
	if err != nil {
		return nil, err
	}
	return h.Answer(ctx, k, params)
}

// Notifications implements Handler.
func (m *member) Notifications(ctx context.Context, send func([]byte) error) error {
	h, err := m.handler()
	if err != nil {
		return err
	}
	return h.Notifications(ctx, send)
}

func (m *member) handler() (Handler, error) {
	m.making.Lock()
	defer m.making.Unlock()
	if m.made != nil {
		return m.made, nil
	}
	h, release, err := m.fleet.Handler(m.id)
	switch {
	case err != nil:
		return nil, err
	case h == nil:
		return nil, errNoHandler
	}
	m.made, m.release = h, release
	return h, nil
}

// releaseHandler is called when no call of the Handler runs or will begin.
func (m *member) releaseHandler() {
	if m.release == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			m.run.panicked(v, debug.Stack())
		}
	}()
	m.release()
}
