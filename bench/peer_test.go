package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// peer is the far end of a connection as a bare, blocking file descriptor: no object of the Go heap and no goroutine, so that
// both ends can live in one process while only the gateway's is measured.
type peer int

func dial(tb testing.TB, addr string) peer {
	tb.Helper()
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		tb.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		tb.Fatal(err)
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		tb.Fatal(err)
	}
	// A gateway that falls silent fails the run instead of hanging it.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 20}); err != nil {
		tb.Fatal(err)
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
		tb.Fatal(err)
	}
	return peer(fd)
}

func (p peer) send(tb testing.TB, b []byte) {
	tb.Helper()
	for len(b) > 0 {
		n, err := unix.Write(int(p), b)
		if err != nil {
			tb.Fatal(err)
		}
		b = b[n:]
	}
}

// receive reads into buf until done says that what has arrived is whole, and returns it.
func (p peer) receive(tb testing.TB, buf []byte, done func([]byte) bool) []byte {
	tb.Helper()
	n := 0
	for !done(buf[:n]) {
		if n == len(buf) {
			tb.Fatalf("more than %d bytes arrived: %.200q", len(buf), buf)
		}
		r, err := unix.Read(int(p), buf[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			tb.Fatalf("read: %v, so far %.200q", err, buf[:n])
		}
		if r == 0 {
			tb.Fatalf("the gateway closed, so far %.200q", buf[:n])
		}
		n += r
	}
	return buf[:n]
}

func (p peer) close() { _ = unix.Close(int(p)) }

func headEnds(b []byte) bool { return bytes.Contains(b, []byte("\r\n\r\n")) }

// httpWhole tells whether b holds a whole HTTP response with a Content-Length.
func httpWhole(b []byte) bool {
	head, body, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	if !ok {
		return false
	}
	_, rest, ok := bytes.Cut(bytes.ToLower(head), []byte("content-length: "))
	if !ok {
		return false
	}
	digits, _, _ := bytes.Cut(rest, []byte("\r\n"))
	n, err := strconv.Atoi(string(digits))
	return err == nil && len(body) >= n
}

func post(path, session, body string) []byte {
	if session != "" {
		session = "Mcp-Session-Id: " + session + "\r\n"
	}
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s",
		path, session, len(body), body)
}

const upgradeHeaders = " HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

func upgrade(path string) []byte { return []byte("GET " + path + upgradeHeaders) }

const (
	opBinary = 0x2
	opClose  = 0x8
	opPing   = 0x9
	opPong   = 0xa
)

// frame is one masked frame; the key is zero, so that masking changes nothing.
func frame(op byte, payload []byte) []byte {
	b := []byte{0x80 | op}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	return append(append(b, 0, 0, 0, 0), payload...)
}

// unframe splits the first whole unmasked frame off b.
func unframe(b []byte) (op byte, payload, rest []byte, ok bool) {
	if len(b) < 2 {
		return 0, nil, b, false
	}
	n, at := int(b[1]), 2
	switch {
	case n == 126 && len(b) >= 4:
		n, at = int(binary.BigEndian.Uint16(b[2:])), 4
	case n == 127 && len(b) >= 10:
		n, at = int(binary.BigEndian.Uint64(b[2:])), 10
	case n >= 126:
		return 0, nil, b, false
	}
	if len(b) < at+n {
		return 0, nil, b, false
	}
	return b[0] & 0x0f, b[at : at+n], b[at+n:], true
}

// read is one blocking read of whatever is there; it is how a server waits for asks.
func (p peer) read(b []byte) (int, error) {
	for {
		n, err := unix.Read(int(p), b)
		if err != unix.EINTR && err != unix.EAGAIN {
			return n, err
		}
	}
}

func (p peer) shutdown() { _ = unix.Shutdown(int(p), unix.SHUT_RDWR) }

func switched(tb testing.TB, head []byte) {
	tb.Helper()
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 101 ")) {
		tb.Fatalf("no upgrade: %q", head)
	}
}

func header(tb testing.TB, response []byte, name string) string {
	tb.Helper()
	for line := range strings.Lines(string(response)) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.EqualFold(k, name) {
			return v
		}
	}
	tb.Fatalf("no header %s in %q", name, response)
	return ""
}
