package outside

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

const (
	// probeTimeout is how long a probed peer may leave bytes unacknowledged
	// (protocol R5).
	probeTimeout = 2 * time.Second

	// probeLength is when a probe is over: the kernel has ended the connection
	// of a peer that did not acknowledge it, so one that is still there is alive.
	probeLength = 2 * probeTimeout
)

// serverMessage ends a /requests connection on which the server spoke (protocol R6).
var serverMessage = &wsock.Violation{Code: 1002, Reason: "the server sends nothing on /requests"}

// requests is a container's /requests connection. It is its claim's mux.Line.
type requests struct {
	member
	handler *Handler
	conn    wsock.Conn
	claim   *mux.Claim
	probing atomic.Bool

	overfull  atomic.Bool // it was cut for what is queued
	gathering gathering
}

// openRequests makes the connection the container's one, or refuses it.
func (a *arrival) openRequests(t target, key []byte) {
	h := a.handler
	if h.mux.Lookup(t.borrowedID()) == nil && h.memory.Short() {
		a.refuse(ReasonMemory, nil)
		return
	}
	claim, err := h.mux.Claim(strings.Clone(t.borrowedID()))
	var over *mux.LimitError
	switch {
	case errors.As(err, &over):
		a.refuse(ReasonMaxContainers, fmt.Errorf("the limit is %d (--%v)", over.Most, over.Limit))
		return
	case err != nil:
		a.refuse(ReasonClaimed, nil)
		return
	}
	s := &requests{handler: h, claim: claim}
	s.member.socket = s
	s.conn.Init(&a.conn, a.early(), &h.sockets)
	if !h.roster.join(&s.member, a) {
		claim.Detach()
		s.conn.Cut()
		return
	}
	serving := false
	defer func() {
		if !serving {
			defer h.roster.leave(&s.member)
			claim.Detach()
			h.observer.SocketClosed(RequestsLabel)
		}
	}()
	h.opened(RequestsLabel, claim.Container().ID())
	var room [switchingSize]byte
	s.conn.Prefix(wsock.AppendSwitching(room[:0], key))
	// The waiting asks are queued behind the 101 and go out with it. A 101 that
	// cannot be written shows as an end to whoever reads, and frees the claim.
	claim.Attach(s)
	s.conn.Flush()
	serving = true
	s.conn.Serve(s)
}

// Announce implements mux.Line.
func (s *requests) Announce(channel uint32, k codec.Kind, payload []byte) {
	var room [codec.AskHeaderSize]byte
	s.queued(s.conn.AppendCharged(codec.AppendAskHeader(room[:0], channel, k), payload, s))
}

// Flush implements mux.Line.
func (s *requests) Flush() { s.gathering.flush(&s.conn) }

// Probe implements mux.Line: it gives the kernel something to be acknowledged,
// and little time.
func (s *requests) Probe() {
	if s.probing.Swap(true) {
		return
	}
	_ = s.conn.SetUserTimeout(probeTimeout) // where there is none, the ping alone has to do
	s.conn.Ping()
	time.AfterFunc(probeLength, s.proven)
}

// proven ends a probe. The peer is alive, or the connection is long closed.
func (s *requests) proven() {
	_ = s.conn.SetUserTimeout(sock.UserTimeout)
	s.probing.Store(false)
}

// Message implements wsock.Handler.
func (s *requests) Message(b *codec.Buffer) *wsock.Violation {
	b.Release()
	return serverMessage
}

// Ended implements wsock.Handler.
func (s *requests) Ended(e wsock.Ending) {
	if e.Stalled || s.overfull.Load() {
		s.handler.stalled()
	}
	defer s.handler.ended(&s.member, RequestsLabel, s.claim.Container().ID(), e)
	s.claim.Detach()
}

func (s *requests) stop() { s.conn.Close(1001, "the gateway is shutting down") }
func (s *requests) cut()  { s.conn.Cut() }

func (s *requests) expire() {
	s.conn.Close(1008, "the token is no longer good: connect again with another")
}
