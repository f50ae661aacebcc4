//go:build linux

package floor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/sock"
)

// Paths of the floors. What comes behind BigPath and FramesPath is a size in bytes.
const (
	PostPath    = "/post"    // answered with a result of 200 bytes
	BigPath     = "/big/"    // and of this size
	AnswerPath  = "/answer"  // upgrade, one message, Close
	LastPath    = "/last"    // the same; the answer to the Close and the end of TCP go out together
	CheckedPath = "/checked" // the same, and the message's JSON is checked as strictly as the protocol wants it
	FramesPath  = "/frames/" // upgrade; then frames of this size without end
	IdlePath    = "/idle"    // upgrade; then nothing
	StreamPath  = "/stream"  // an event stream
	TriggerPath = "/trigger" // upgrade; each message goes to all event streams. ?batch and ?halves: see fanout
)

// pairQuery begins the query of an event stream and of the trigger that it alone hears.
const pairQuery = "pair="

// Pair is the path of a trigger or an event stream, as one of a pair.
func Pair(path string, i int) string { return fmt.Sprintf("%s?%s%d", path, pairQuery, i) }

// Result is the result that a server answers with: about 256 bytes with the response around it.
var Result = ResultOf(200)

// ResultOf is a result that holds so many bytes of text.
func ResultOf(n int) []byte {
	return []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", n) + `"}]}`)
}

// responseOf is the body of a response that holds it.
func responseOf(n int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":%s}`, ResultOf(n))
}

// Floors are the floors' listeners.
type Floors struct {
	fast, plain net.Listener
	server      *fasthttp.Server
	stopping    chan struct{}
	serving     sync.WaitGroup
	streams     streams

	next    chan net.Conn // unbuffered: to a goroutine that rests
	resting atomic.Int32
}

// Start opens the listeners on free ports.
func Start() (*Floors, error) {
	f := &Floors{stopping: make(chan struct{})}
	var err error
	if f.fast, err = sock.Listen(context.Background(), "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if f.plain, err = sock.Listen(context.Background(), "127.0.0.1:0"); err != nil {
		return nil, errors.Join(err, f.fast.Close())
	}
	f.server = newFast()
	f.serving.Go(func() { _ = f.server.Serve(f.fast) })
	f.next = make(chan net.Conn)
	f.serving.Go(func() {
		_ = sock.Accept(f.plain, f.stopping, slog.New(slog.DiscardHandler), func(nc net.Conn) {
			select {
			case f.next <- nc: // somebody rests
			default:
				go f.work(nc)
			}
		})
	})
	return f, nil
}

// Fast is the address of what fasthttp serves, and Plain that of the loops.
func (f *Floors) Fast() string  { return f.fast.Addr().String() }
func (f *Floors) Plain() string { return f.plain.Addr().String() }

// Close closes the listeners. Connections end when their clients end them.
func (f *Floors) Close() {
	close(f.stopping)
	_ = f.plain.Close()
	_ = f.fast.Close()
	f.serving.Wait()
}

// sizeBehind is the number that a path ends with.
func sizeBehind(path, prefix string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(path, prefix))
	return n
}

// bigBodies are the responses of BigPath by size.
var bigBodies sync.Map

func bigBody(n int) []byte {
	if b, ok := bigBodies.Load(n); ok {
		return b.([]byte)
	}
	b, _ := bigBodies.LoadOrStore(n, responseOf(n))
	return b.([]byte)
}

var smallBody = responseOf(200)

// responseHead is that of the gateway's responses.
func responseHead(length int) []byte {
	b := fasthttp.AppendHTTPDate([]byte("HTTP/1.1 200 OK\r\nDate: "), time.Now())
	return fmt.Appendf(b, "\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", length)
}
