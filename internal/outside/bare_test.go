//go:build linux

package outside

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// serveBare serves m on a port, without a world's records, for as long as the
// test runs.
func serveBare(t testing.TB, m *mux.Mux) *unix.SockaddrInet4 {
	t.Helper()
	h := New(Config{Mux: m, MaxMessage: 1 << 20, Ping: time.Hour, Logger: slog.New(slog.DiscardHandler)})
	ln, err := sock.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := h.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		<-served
		m.Stop()
	})
	addr := ln.Addr().(*net.TCPAddr)
	return &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(addr.IP.To4())}
}

// exchange makes one call of a container and opens its notifications path.
func exchange(t testing.TB, m *mux.Mux, to *unix.SockaddrInet4, id string, requests bare) bare {
	t.Helper()
	told := make(told, 1)
	there(m.Container(id)).Ask(codec.CallTool, []byte(toolAsk), told)
	call, resident := requests.ask(t), requests.ask(t)
	answer := dialBare(t, to, base(id)+path(call.Kind, call.Channel))
	defer answer.close()
	answer.send(t, wstest.Frame{Fin: true, Op: wstest.OpBinary, Payload: result(toolAnswer)},
		wstest.Frame{Fin: true, Op: wstest.OpClose, Payload: wstest.CloseBody(1000, "")})
	if o := <-told; o != mux.Answered {
		t.Fatalf("%v", o)
	}
	return dialBare(t, to, base(id)+path(resident.Kind, resident.Channel))
}

// told is a caller that only remembers the outcome.
type told chan mux.Outcome

func (c told) Settle(s mux.Settlement) { c <- s.Outcome }

// deaf is a sink.
type deaf struct{}

func (deaf) Notify(codec.Notification) {}

// bare is the far end of a socket as a blocking file descriptor: it takes no
// memory of the Go runtime that would be measured too.
type bare int

func connectBare(t testing.TB, to *unix.SockaddrInet4) bare {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: int64(patience / time.Second)}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Connect(fd, to); err != nil {
		t.Fatal(err)
	}
	return bare(fd)
}

func dialBare(t testing.TB, to *unix.SockaddrInet4, target string) bare {
	t.Helper()
	p := connectBare(t, to)
	p.upgrade(t, []byte("GET "+target+" HTTP/1.1\r\n"+upgradeHeaders+"\r\n"))
	return p
}

// upgrade sends the request and reads the 101, to the byte.
func (p bare) upgrade(t testing.TB, request []byte) {
	t.Helper()
	p.write(t, request)
	room := rooms.Get().(*[256]byte)
	defer rooms.Put(room)
	got := room[:len(switching)]
	p.readInto(t, got)
	if !bytes.Equal(got, switching) {
		t.Fatalf("%s: %s", request, got)
	}
}

// rooms keep what is read here out of the count of allocations.
var rooms = sync.Pool{New: func() any { return new([256]byte) }}

// switching is the 101 to the key in upgradeHeaders.
var switching = wstest.Switching("dGhlIHNhbXBsZSBub25jZQ==")

func (p bare) write(t testing.TB, b []byte) {
	t.Helper()
	if n, err := unix.Write(int(p), b); err != nil || n != len(b) {
		t.Fatalf("wrote %d of %d: %v", n, len(b), err)
	}
}

func (p bare) readInto(t testing.TB, b []byte) {
	t.Helper()
	for at := 0; at < len(b); {
		r, err := unix.Read(int(p), b[at:])
		switch {
		case err == unix.EINTR:
		case err != nil || r == 0:
			t.Fatalf("read %d of %d: %v", at, len(b), err)
		default:
			at += r
		}
	}
}

func (p bare) send(t testing.TB, frames ...wstest.Frame) {
	t.Helper()
	var out []byte
	for _, f := range frames {
		f.Masked = true
		out = wstest.AppendFrame(out, f)
	}
	p.write(t, out)
}

// frame reads one short frame.
func (p bare) frame(t testing.TB) (op byte, payload []byte) {
	t.Helper()
	var head [2]byte
	p.readInto(t, head[:])
	payload = make([]byte, head[1]&0x7f)
	p.readInto(t, payload)
	return head[0] & 0xf, payload
}

func (p bare) ask(t testing.TB) codec.Ask {
	t.Helper()
	_, payload := p.frame(t)
	ask, err := codec.DecodeAsk(payload)
	if err != nil {
		t.Fatal(err)
	}
	return ask
}

func (p bare) pingPong(t testing.TB) {
	t.Helper()
	p.send(t, wstest.Frame{Fin: true, Op: wstest.OpPing, Payload: []byte("x")})
	if op, _ := p.frame(t); op != wstest.OpPong {
		t.Fatalf("opcode %#x, wanted a pong", op)
	}
}

// readClosed reads the answer to a Close of status 1000 and the end behind it.
func (p bare) readClosed(t testing.TB) {
	t.Helper()
	room := rooms.Get().(*[256]byte)
	defer rooms.Put(room)
	got := room[:4]
	p.readInto(t, got)
	if got[0] != 0x88 || got[1] != 2 || got[2] != 0x03 || got[3] != 0xe8 {
		t.Fatalf("%x, wanted a Close of status 1000", got)
	}
	n, err := unix.Read(int(p), got)
	for err == unix.EINTR {
		n, err = unix.Read(int(p), got)
	}
	if n != 0 || err != nil {
		t.Fatalf("read %d %v, wanted the end", n, err)
	}
}

func (p bare) close() { _ = unix.Close(int(p)) }
