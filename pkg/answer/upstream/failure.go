package upstream

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

const codeInternal = -32603

// What a caller is told. It runs in a container that must not learn where the MCP server is or what it runs on: all else
// is for the log.
const (
	toldUnreachable = "the upstream MCP server cannot be reached"
	toldLost        = "the upstream MCP server was lost before it answered"
	toldUnusable    = "the upstream MCP server's answer is none to this request"
	toldRefused     = "the upstream MCP server refused the request (HTTP status %d)"
)

// failure is a request that got no answer: what its caller is told, and why that is.
type failure struct {
	told  string
	cause error
}

func (f *failure) Error() string { return f.told + ": " + reason(f.cause) }
func (f *failure) Unwrap() error { return f.cause }

func unreachable(cause error) error { return &failure{toldUnreachable, cause} }
func unanswered(cause error) error  { return &failure{toldLost, cause} }
func unusable(cause error) error    { return &failure{toldUnusable, cause} }
func refused(cause *refusedError) error {
	return &failure{fmt.Sprintf(toldRefused, cause.status), cause}
}

// outward is what leaves of an error, and logs what stays.
func (s *seat) outward(err error) error {
	var f *failure
	if !errors.As(err, &f) {
		return err
	}
	if calls := s.keeper.complaints.due(f.told, f.cause, 1); calls > 0 {
		s.log().Warn("the MCP server did not answer a call", "problem", f.told, "error", reason(f.cause), "calls", calls)
	}
	return &codec.Error{Code: codeInternal, Message: f.told}
}

// complaintEvery is how often the log says that calls keep failing for the same reason.
const complaintEvery = 30 * time.Second

// complaints keeps the log to one line for each cause, not for each call. The zero value is ready to use.
type complaints struct {
	mu   sync.Mutex           // a leaf
	last map[string]complaint // by what callers are told: a few words, and HTTP statuses
}

type complaint struct {
	shape string
	at    time.Time
	calls int // that failed since
}

// due notes calls that failed, and returns how many have since the last line about it. Zero: no line is due.
func (c *complaints) due(told string, cause error, calls int) int {
	if errors.Is(cause, errClosed) || errors.Is(cause, errNoSession) {
		return 0 // keep says what is to be said
	}
	now, shape := time.Now(), shape(cause)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = make(map[string]complaint)
	}
	last, known := c.last[told]
	last.calls += calls
	if known && last.shape == shape && now.Sub(last.at) < complaintEvery {
		c.last[told] = last
		return 0
	}
	c.last[told] = complaint{shape: shape, at: now}
	return last.calls
}

// shape is the same for errors that differ only in what differs each time: ports, times, what a page says.
func shape(err error) string {
	var refusal *refusedError
	if errors.As(err, &refusal) {
		return "status " + strconv.Itoa(refusal.status)
	}
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, firstLine([]byte(reason(err)), lineLimit))
}
