package outside

import (
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/keepalive"
	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/stream"
)

const (
	// maxUnread bounds what a follower that does not read costs, with the
	// snapshot. One that has missed something is closed: it comes back for
	// another snapshot.
	maxUnread = 1 << 16

	// bareLine is the length of a change without the id, maxLine with the longest.
	bareLine = len(`{"came":""}` + "\n")
	maxLine  = bareLine + 128
)

// listAlive is what a quiet list says from time to time.
var listAlive = stream.Message{Bytes: []byte("{}\n")}

// follower is the connection of one GET /containers (protocol G6). It is the
// mux.Follower that its stream is filled by. Its one goroutine only reads, and
// so sees the peer leave.
type follower struct {
	member
	handler  *Handler
	conn     sock.Conn
	head     []byte         // of the response, until the snapshot; borrowed
	stream   *stream.Stream // set by Snapshot
	unfollow func()         // set once Follow has returned

	beat   keepalive.Entry
	busy   atomic.Bool // since the last beat
	beaten bool        // at the last beat; the ring's
}

// appendListHead appends the head of a response that ends with its connection.
func appendListHead(dst []byte) []byte {
	dst = append(dst, "HTTP/1.1 200 OK\r\nDate: "...)
	dst = fasthttp.AppendHTTPDate(dst, time.Now())
	return append(dst, "\r\nContent-Type: application/x-ndjson\r\nCache-Control: no-store\r\nX-Accel-Buffering: no\r\nConnection: close\r\n\r\n"...)
}

func appendChange(dst []byte, change, id string) []byte {
	dst = append(dst, `{"`...)
	dst = append(dst, change...)
	dst = append(dst, `":"`...)
	dst = append(dst, id...) // nothing in it has to be escaped (protocol G3)
	return append(dst, "\"}\n"...)
}

// openFollower begins the list on the connection. What the peer sends on it does
// not count.
func (a *arrival) openFollower() {
	h := a.handler
	if h.memory.Short() {
		a.refuse(ReasonMemory, nil)
		return
	}
	head := codec.GetBuffer(switchingSize)
	defer head.Release()
	head.B = appendListHead(head.B)
	f := &follower{handler: h, head: head.B}
	f.member.socket = f
	f.conn.Init(&a.conn)
	if !h.roster.join(&f.member, a) {
		_ = f.conn.Close()
		return
	}
	reading := false
	defer func() {
		if !reading {
			f.ended()
		}
	}()
	h.observer.SocketOpened(ContainersLabel)
	f.unfollow = h.mux.Follow(f)
	if h.sockets.Ring != nil {
		f.beat.Beater = f
		h.sockets.Ring.Add(&f.beat)
	}
	reading = true
	// A fresh stack: this one has grown, and would stay so.
	go f.read()
}

// Snapshot implements mux.Follower.
func (f *follower) Snapshot(ids []string) {
	size := len(f.head) + maxLine
	for _, id := range ids {
		size += len(id) + bareLine
	}
	list := append(make([]byte, 0, size), f.head...)
	f.head = nil
	for _, id := range ids {
		list = appendChange(list, "came", id)
	}
	list = append(list, `{"complete":`...)
	list = strconv.AppendInt(list, int64(len(ids)), 10)
	list = append(list, "}\n"...)
	// A hub of its own, as the bound depends on the snapshot: it always fits.
	hub := stream.NewHub(&stream.Config{
		Messages: 1 + f.handler.unread,
		Bytes:    len(list) + f.handler.unread*maxLine,
		Stall:    max(f.handler.sockets.Stall, 0),
		Panicked: f.handler.socketPanicked,
	})
	f.stream = hub.Open(&f.conn, f.closed)
	f.stream.Send(stream.Message{Bytes: list, Keep: true})
}

// Came implements mux.Follower.
func (f *follower) Came(id string) { f.change("came", id) }

// Went implements mux.Follower.
func (f *follower) Went(id string) { f.change("went", id) }

func (f *follower) change(change, id string) {
	f.busy.Store(true)
	f.stream.Send(stream.Message{Bytes: appendChange(make([]byte, 0, len(id)+bareLine), change, id), Keep: true})
}

// Beat implements keepalive.Beater: as on a WebSocket, every second beat of a
// list on which nothing happens is heard.
func (f *follower) Beat(time.Time) {
	f.beaten = !f.busy.Swap(false) && !f.beaten
	if f.beaten {
		f.stream.Send(listAlive)
	}
}

// read is the follower's goroutine. It ends with the connection, whoever ends that.
func (f *follower) read() {
	defer f.handler.recovered(panicSocket, func() { _ = f.conn.Close() })
	defer f.ended()
	for {
		chunk, err := f.conn.ReadIdle()
		if err != nil {
			return
		}
		chunk.Release()
	}
}

// ended ends what openFollower has begun.
func (f *follower) ended() {
	h := f.handler
	defer h.roster.leave(&f.member)
	if h.sockets.Ring != nil {
		h.sockets.Ring.Remove(&f.beat)
	}
	if f.unfollow != nil {
		f.unfollow()
	}
	if f.stream != nil {
		f.stream.Close(stream.CloseLeft)
	}
	_ = f.conn.Close()
	h.observer.SocketClosed(ContainersLabel)
}

// closed is told why the stream was closed, where it was not its reader that saw
// the connection end.
func (f *follower) closed(_ *stream.Stream, why stream.CloseReason) {
	if why == stream.CloseStalled {
		f.handler.stalled()
	}
	if why != stream.CloseLeft && f.handler.log.Enabled(context.Background(), slog.LevelDebug) {
		f.handler.log.Debug("a list of containers was closed", "listener", Listener, "reason", why.String())
	}
}

func (f *follower) stop() { _ = f.conn.Close() }
func (f *follower) cut()  { _ = f.conn.Close() }

func (f *follower) expire() { f.stop() }
