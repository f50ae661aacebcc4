package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diverge-network/gateway/internal/toolheader"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// courtesyTimeout bounds messages that nobody waits for: cancellations, and answers to the server's requests.
	courtesyTimeout = 2 * time.Second
	// flightTimeout is how long a request that is being sent when its session ends may still learn what became of it: a
	// refusal of its own says that it was not run.
	flightTimeout = 2 * time.Second
	// trailTimeout is how long a request's stream may go on after its answer, for its connection to be used again.
	trailTimeout = 5 * time.Second
	// maxReplies is how many answers to the server's requests may be on their way to it.
	maxReplies = 64
)

const (
	methodPing      = "ping"
	methodCancelled = "notifications/cancelled"
)

// session is one MCP session, or the time in which a server without sessions is there. Its goroutines (the reader, the answers to the server's requests, and the link's own) are
// counted in tasks and end with ctx; close waits for them.
type session struct {
	config   *Config
	log      *slog.Logger
	link     link
	counters *counters
	jitter   func() float64                                          // of waits; nil: math/rand/v2
	notified func(s *session, method string, params json.RawMessage) // takes the server's notifications, in order
	missed   func()                                                  // is told that some were not heard

	// Written before the first request that is not of the beginning.
	version  string // protocol revision
	server   string // the server's name and version, for the log
	declared []byte // the members of _meta that a stateless request must have

	stateless    atomic.Bool                  // its revision is
	subscription atomic.Pointer[subscription] // the newest one of a stateless session

	life  context.Context // the keeper's
	ctx   context.Context // ends with the session; its cause says why
	fail  context.CancelCauseFunc
	tasks sync.WaitGroup

	tools     *toolheader.Tools // of a stateless server over HTTP, as far as it has listed them
	relisting chan struct{}     // holds one while the list is read over a call
	relisted  atomic.Uint64     // how often it was

	useful  atomic.Bool   // it has answered a request other than the handshake's
	replies chan struct{} // one for each answer to the server that is on its way
	probing sync.Mutex    // one probe at a time; held while waiting, guards nothing else
	probes  atomic.Uint64 // begun

	// mu is a leaf.
	mu      sync.Mutex
	lastID  int64
	pending map[int64]chan reply // each with room for the one reply
}

// reply is what the server answered to one request.
type reply struct {
	result json.RawMessage
	err    error // *jsonrpc.Error: the server's; anything else: the transport gave the request up
}

func newSession(k *keeper, l link) *session {
	s := &session{
		config:    &k.cfg,
		log:       k.log,
		link:      l,
		counters:  &k.counters,
		notified:  k.notified,
		missed:    k.announce,
		jitter:    k.jitter,
		pending:   make(map[int64]chan reply),
		replies:   make(chan struct{}, maxReplies),
		tools:     toolheader.New(toolLimits),
		relisting: make(chan struct{}, 1),
		life:      k.life,
	}
	s.ctx, s.fail = context.WithCancelCause(k.life)
	s.tasks.Go(s.receive)
	return s
}

// close ends the session and waits for its goroutines.
func (s *session) close() {
	s.fail(errClosed)
	s.link.close()
	s.tasks.Wait()
}

// receive is the only reader: what the server sends is handled in its order.
func (s *session) receive() {
	for {
		msg, err := s.link.read(s.ctx)
		if err != nil {
			s.fail(err)
			return
		}
		switch msg := msg.(type) {
		case *jsonrpc.Response:
			s.settle(msg)
		case *jsonrpc.Request:
			if msg.IsCall() {
				s.requested(msg)
			} else {
				s.hear(msg)
			}
		}
	}
}

// hear takes a notification. What is about messages between the server and us ends here.
func (s *session) hear(msg *jsonrpc.Request) {
	switch {
	case msg.Method == methodCancelled: // of a request of the server's, which serve has answered, or of our subscription
		s.unsubscribed(msg.Params)
	case !s.stateless.Load():
		s.notified(s, msg.Method, msg.Params)
	case msg.Method == methodAcknowledged:
		s.acknowledged(msg.Params)
	default:
		if msg.Method == methodToolsChanged {
			s.tools.Forget()
		}
		s.notified(s, msg.Method, withoutSubscription(msg.Params))
	}
}

func (s *session) settle(msg *jsonrpc.Response) {
	id, _ := msg.ID.Raw().(int64)
	if !s.deliver(id, reply{result: msg.Result, err: msg.Error}) {
		s.counters.unmatched.Add(1)
		s.log.Debug("the MCP server answered a request that does not wait", "id", msg.ID.Raw())
	}
}

// deliver gives a request its one reply, if it waits.
func (s *session) deliver(id int64, got reply) bool {
	s.mu.Lock()
	waiting := s.pending[id]
	delete(s.pending, id)
	s.mu.Unlock()
	if waiting == nil {
		return false
	}
	waiting <- got
	return true
}

// requested has a request of the server's own answered. The reader must not wait for a server that asks and does not read.
func (s *session) requested(msg *jsonrpc.Request) {
	select {
	case s.replies <- struct{}{}:
		s.tasks.Go(func() {
			defer func() { <-s.replies }()
			s.serve(msg)
		})
	default:
		s.counters.declined.Add(1)
		s.log.Warn("left a request of the MCP server without an answer: it asks faster than it takes answers", "method", msg.Method)
	}
}

// serve answers a request of the server's own. Nothing but a ping can be meant for us: no capability was declared.
func (s *session) serve(msg *jsonrpc.Request) {
	response := &jsonrpc.Response{ID: msg.ID}
	if msg.Method == methodPing {
		response.Result = json.RawMessage("{}")
	} else {
		s.counters.declined.Add(1)
		s.log.Info("declined a request of the MCP server", "method", msg.Method)
		response.Error = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "the gateway does not serve " + msg.Method}
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.config.courtesy)
	defer cancel()
	if err := s.link.write(ctx, response); err != nil {
		s.log.Debug("could not answer a request of the MCP server", "method", msg.Method, "error", err)
	}
}

// register makes room for a reply under a new id.
func (s *session) register() (int64, chan reply) {
	waiting := make(chan reply, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	s.pending[s.lastID] = waiting
	return s.lastID, waiting
}

func (s *session) forget(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, id)
}

// call sends one request and waits for its reply. The notifications that came before it have been passed on by then. If
// ctx ends first the server is told so. Errors: *brokenError, *refusedError,
// *unusableError, or ctx's cause.
func (s *session) call(ctx context.Context, method string, params json.RawMessage) (reply, error) {
	id, waiting := s.register()
	defer s.forget(id)

	// The request has a context of its own: the notice that it is cancelled must not lose a race against its end.
	sending, abort := context.WithCancel(s.life)
	defer context.AfterFunc(s.ctx, func() { time.AfterFunc(flightTimeout, abort) })()
	noticed := make(chan struct{})
	unwatched := context.AfterFunc(ctx, func() {
		defer close(noticed)
		s.cancelled(ctx, id, method)
		abort()
	})
	got, err := s.exchange(sending, waiting, &jsonrpc.Request{ID: makeID(id), Method: method, Params: params})
	if !unwatched() {
		<-noticed
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		abort()
		return reply{}, err
	}
	time.AfterFunc(trailTimeout, abort)
	return got, nil
}

// exchange ends with a reply, with sending, or with the session.
func (s *session) exchange(sending context.Context, waiting <-chan reply, request *jsonrpc.Request) (reply, error) {
	if err := s.link.write(sending, request); err != nil {
		return reply{}, s.examine(request.Method, err)
	}
	select {
	case got := <-waiting:
		return s.usable(request.Method, got)
	case <-sending.Done():
	case <-s.ctx.Done():
	}
	select { // what the reader had taken in before the end counts
	case got := <-waiting:
		return s.usable(request.Method, got)
	default:
	}
	if s.ctx.Err() != nil {
		return reply{}, &brokenError{cause: context.Cause(s.ctx)}
	}
	return reply{}, context.Cause(sending)
}

// cancelled tells the server that nobody waits for a request any more. In the stateless revision the end of a stream of
// its own says so.
func (s *session) cancelled(ctx context.Context, id int64, method string) {
	if beginning(method) || s.ctx.Err() != nil {
		return
	}
	s.counters.cancelled.Add(1)
	if s.stateless.Load() && s.link.streamEach() {
		return
	}
	params, err := json.Marshal(struct {
		RequestID int64  `json:"requestId"`
		Reason    string `json:"reason"`
	}{id, fmt.Sprint(context.Cause(ctx))})
	if err != nil {
		s.log.Error("could not write a cancellation", "error", err)
		return
	}
	notice, cancel := context.WithTimeout(s.ctx, s.config.courtesy)
	defer cancel()
	if err := s.notify(notice, methodCancelled, params); err != nil {
		s.log.Debug("could not tell the MCP server of a cancellation", "id", id, "error", err)
	}
}

// notify sends a notification of ours.
func (s *session) notify(ctx context.Context, method string, params json.RawMessage) error {
	return s.link.write(ctx, &jsonrpc.Request{Method: method, Params: params})
}
