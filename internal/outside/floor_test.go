//go:build linux

package outside

import (
	"bufio"
	"bytes"
	"context"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/gobwas/ws"
	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/internal/wsock"
)

// floor is the least that a server of the protocol can do with the libraries of
// this one: accept, read a head and have it parsed, send the 101, read a message
// and a Close, answer the Close. It knows no containers, and trusts its clients.
type floor struct {
	ln       net.Listener
	stopping chan struct{}
	serving  sync.WaitGroup
	opened   chan net.Conn   // upgraded connections that stay
	told     []chan struct{} // by channel
	heads    sync.Pool       // of *floorHead
}

// floorHead is what one connection needs until it ends.
type floorHead struct {
	conn   sock.Conn
	in     *bufio.Reader
	header fasthttp.RequestHeader
	out    []byte
	room   [4 << 10]byte
}

func serveFloor(t testing.TB, channels int) (f *floor, to *unix.SockaddrInet4) {
	t.Helper()
	ln, err := sock.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f = &floor{ln: ln, stopping: make(chan struct{}), opened: make(chan net.Conn), told: make([]chan struct{}, channels)}
	f.heads.New = func() any { return &floorHead{in: bufio.NewReaderSize(nil, maxHeader)} }
	for i := range f.told {
		f.told[i] = make(chan struct{}, 1)
	}
	f.serving.Go(func() {
		_ = sock.Accept(ln, f.stopping, slog.New(slog.DiscardHandler), func(c net.Conn) { f.serving.Go(func() { f.serve(c) }) })
	})
	t.Cleanup(func() {
		close(f.stopping)
		_ = ln.Close()
		f.serving.Wait()
	})
	addr := ln.Addr().(*net.TCPAddr)
	return f, &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(addr.IP.To4())}
}

func (f *floor) serve(c net.Conn) {
	h := f.heads.Get().(*floorHead)
	defer f.heads.Put(h)
	h.conn = sock.Conn{}
	h.conn.Init(c)
	h.in.Reset(&h.conn)
	if h.header.Read(h.in) != nil {
		_ = c.Close()
		return
	}
	key, err := wsock.CheckUpgrade(&h.header)
	if err != nil {
		_ = c.Close()
		return
	}
	h.out = wsock.AppendSwitching(h.out[:0], key)
	if _, err := c.Write(h.out); err != nil {
		_ = c.Close()
		return
	}
	path := h.header.RequestURI()
	channel, err := strconv.Atoi(string(path[bytes.LastIndexByte(path, '/')+1:]))
	if err != nil {
		f.opened <- c
		return
	}
	f.answer(c, h, channel)
	_ = c.Close()
}

// answer reads a message and a Close.
func (f *floor) answer(c net.Conn, h *floorHead, channel int) {
	for n := 0; ; {
		r, err := c.Read(h.room[n:])
		if err != nil {
			return
		}
		n += r
		for {
			size, op := floorFrame(h.room[:n])
			if size == 0 {
				break
			}
			if op == ws.OpClose {
				f.told[channel] <- struct{}{}
				_, _ = h.conn.TryWriteLast(floorClose)
				return
			}
			n = copy(h.room[:], h.room[size:n])
		}
	}
}

var floorClose = []byte{0x88, 2, 0x03, 0xe8}

// floorFrame unmasks the first frame, which is short, and returns its length; 0
// if it is not whole.
func floorFrame(b []byte) (size int, op ws.OpCode) {
	if len(b) < 6 || len(b) < 6+int(b[1]&0x7f) {
		return 0, 0
	}
	size = 6 + int(b[1]&0x7f)
	ws.Cipher(b[6:size], [4]byte(b[2:6]), 0)
	return size, ws.OpCode(b[0] & 0xf)
}

// floorCaller makes one exchange after the other, as an exchanger does.
type floorCaller struct {
	f        *floor
	to       *unix.SockaddrInet4
	channel  int
	requests bare     // the far end
	line     net.Conn // ours
	ask      []byte
	room     []byte
	request  []byte
	answer   []byte
}

func (f *floor) caller(t testing.TB, to *unix.SockaddrInet4, channel int, answer []byte) *floorCaller {
	c := &floorCaller{f: f, to: to, channel: channel, requests: dialBare(t, to, "/requests"), line: <-f.opened, answer: answer}
	c.ask = append([]byte{0x82, byte(5 + len(toolAsk)), 0, 0, 0, 0, 2}, toolAsk...)
	c.room = make([]byte, len(c.ask))
	c.request = []byte("GET /mcp/call-tool/" + strconv.Itoa(channel) + " HTTP/1.1\r\n" + upgradeHeaders + "\r\n")
	t.Cleanup(func() {
		c.requests.close()
		_ = c.line.Close()
	})
	return c
}

func (c *floorCaller) once(t testing.TB) {
	if _, err := c.line.Write(c.ask); err != nil {
		t.Fatal(err)
	}
	c.requests.readInto(t, c.room)
	p := connectBare(t, c.to)
	p.upgrade(t, c.request)
	p.write(t, c.answer)
	p.readClosed(t)
	<-c.f.told[c.channel]
	p.close()
}
