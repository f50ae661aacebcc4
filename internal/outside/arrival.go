package outside

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/auth"
	"github.com/diverge-network/gateway/internal/httphead"
	"github.com/diverge-network/gateway/internal/sock"
)

// arrival is a connection while HTTP is spoken on it. Its goroutine owns it.
// While it waits for a request it holds no buffer.
type arrival struct {
	member
	handler *Handler
	conn    sock.Conn

	header fasthttp.RequestHeader
	in     *bufio.Reader // of the arrival itself; nil while nothing is being read
	ahead  *sock.Chunk   // read already, before what conn has; nil mostly
	timed  bool          // conn has a read deadline
	parsed bool          // header has the head of the request at hand
	spoken bool          // a request has begun
	failed error         // of the last read
}

var arrivals sync.Pool

func takeArrival(h *Handler, nc net.Conn) *arrival {
	a, ok := arrivals.Get().(*arrival)
	if !ok {
		a = new(arrival)
		a.member.socket = a
	}
	a.handler = h
	a.conn.Init(nc)
	return a
}

// release takes the arrival off the roster, if it still is on it, and gives it
// back.
func (a *arrival) release() {
	a.handler.roster.depart(a)
	a.dropReader()
	a.header.Reset()
	a.handler, a.conn = nil, sock.Conn{}
	a.identity = auth.Identity{}
	a.timed, a.parsed, a.spoken, a.failed = false, false, false, nil
	arrivals.Put(a)
}

// speak answers requests until the connection has ended or became something
// else. An answer path, which should be short, is served here; everything else
// has a goroutine of its own, whose stack has not grown.
func (a *arrival) speak() {
	if s := a.converse(); s != nil {
		s.conn.Run(s)
	}
}

// converse answers one request after the other, and returns the answer path that
// the last of them has opened, if it is to be served.
func (a *arrival) converse() (opened *answer) {
	defer a.release()
	defer a.handler.recovered(panicHTTP, a.cut)
	if !a.secure() {
		a.cut()
		return nil
	}
	for {
		if err := a.await(); err != nil {
			a.unspoken(err)
			a.cut()
			return nil
		}
		a.spoken = true
		opened, more := a.exchange()
		if !more {
			return opened
		}
	}
}

// secure speaks TLS on the connection, if that is spoken here, and reports whether
// the peer does.
func (a *arrival) secure() bool {
	h := a.handler
	if h.tls == nil {
		return true
	}
	conn, err := sock.ServeTLS(a.conn.Conn, h.tls(), h.timeout)
	if err == nil {
		h.roster.secure(a, conn)
		return true
	}
	if !errors.Is(err, io.EOF) && !h.stopped() { // a look at the port is none
		h.refused(refusalFor(ReasonTLS), a, err)
	}
	return false
}

// exchange answers a request. Unless another may follow, the connection is
// closed, or no longer the arrival's.
func (a *arrival) exchange() (opened *answer, more bool) {
	if reason, cause := a.readHead(); reason != "" {
		a.refuse(reason, cause)
		return nil, false
	}
	t, key, reason, cause := a.judge()
	if reason != "" {
		return nil, a.refuse(reason, cause)
	}
	return a.become(t, key), false
}

// await waits for the first byte of a request. Empty lines before it, which some
// clients send behind a body, do not count.
func (a *arrival) await() error {
	if a.in != nil {
		if skipEmptyLines(a.in) {
			return a.renew()
		}
		a.dropReader()
	}
	if a.timed { // by the request before
		if err := a.renew(); err != nil {
			return err
		}
	}
	for {
		chunk, err := a.readIdle()
		if err != nil {
			return err
		}
		if chunk.B = trimEmptyLines(chunk.B); len(chunk.B) > 0 {
			a.ahead = chunk
			return nil
		}
		chunk.Release()
		if !a.timed {
			if err := a.renew(); err != nil {
				return err
			}
		}
	}
}

// unspoken counts and logs a connection on which no request ever came, which its
// peer has kept open: there is nothing to answer.
func (a *arrival) unspoken(err error) {
	if !a.spoken && errors.Is(err, os.ErrDeadlineExceeded) {
		a.handler.refused(refusalFor(ReasonTimeout), a, errUnspoken)
	}
}

var errUnspoken = errors.New("nothing came, and the connection was closed without a response")

// readIdle reads the beginning of a request. If it has to wait, a deadline is
// set, which is the rest of the head's too.
func (a *arrival) readIdle() (*sock.Chunk, error) {
	if a.timed {
		return a.conn.ReadIdle()
	}
	chunk, timed, err := a.conn.ReadIdleWithin(a.handler.timeout)
	a.timed = timed
	return chunk, err
}

// skipEmptyLines reports whether the reader holds anything else.
func skipEmptyLines(in *bufio.Reader) bool {
	b, _ := in.Peek(in.Buffered())
	rest := trimEmptyLines(b)
	_, _ = in.Discard(len(b) - len(rest))
	return len(rest) > 0
}

func trimEmptyLines(b []byte) []byte {
	for len(b) > 0 && (b[0] == '\r' || b[0] == '\n') {
		b = b[1:]
	}
	return b
}

// Read implements io.Reader for in.
func (a *arrival) Read(p []byte) (n int, err error) {
	if a.ahead != nil {
		n = copy(p, a.ahead.B)
		if a.ahead.B = a.ahead.B[n:]; len(a.ahead.B) == 0 {
			a.ahead.Release()
			a.ahead = nil
		}
		return n, nil
	}
	if !a.timed {
		err = a.renew()
	}
	if err == nil {
		n, err = a.conn.Read(p)
	}
	a.failed = err
	return n, err
}

// renew begins the time that a request has.
func (a *arrival) renew() error {
	a.timed = true
	return a.conn.SetReadDeadline(time.Now().Add(a.handler.timeout))
}

// untimed ends it: nothing times out from now on (protocol W5).
func (a *arrival) untimed() error {
	if !a.timed {
		return nil
	}
	a.timed = false
	return a.conn.SetReadDeadline(time.Time{})
}

// readHead reads a request's head.
func (a *arrival) readHead() (Reason, error) {
	if a.in == nil {
		a.in = httphead.TakeReader(a)
	}
	a.failed = nil
	err := httphead.Read(a.in, &a.header)
	a.parsed = err == nil
	switch {
	case err == nil:
		return "", nil
	case errors.Is(err, httphead.ErrTooBig):
		return ReasonHeaderTooBig, nil
	case a.failed == nil:
		return ReasonMalformed, errors.New(httphead.Cause(err))
	case errors.Is(a.failed, os.ErrDeadlineExceeded):
		return ReasonTimeout, nil
	case a.handler.stopped():
		return ReasonShutdown, nil
	default:
		return ReasonMalformed, errEndedWithin
	}
}

var errEndedWithin = errors.New("the connection ended within the request")

// early is what the peer has sent behind the head. It is borrowed.
func (a *arrival) early() []byte {
	b, _ := a.in.Peek(a.in.Buffered())
	return b
}

func (a *arrival) dropReader() {
	if a.in != nil {
		httphead.GiveBack(a.in)
		a.in = nil
	}
	if a.ahead != nil {
		a.ahead.Release()
		a.ahead = nil
	}
}

// cut implements stopper.
func (a *arrival) cut() { _ = a.conn.Close() }

// stop implements stopper: what is still HTTP has nothing that it needs to be told.
func (a *arrival) stop() { a.cut() }

// expire implements stopper: on an arrival each request is judged by itself.
func (a *arrival) expire() {}
