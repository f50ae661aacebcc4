package wstest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Patience is how long a peer waits for what must come before it fails the
// test.
const Patience = 10 * time.Second

const magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// Request is an upgrade request before it is sent; a test bends it with an
// Option.
type Request struct {
	Method string      // GET
	Path   string      // sent as it is, never escaped
	Host   string      // the address dialled
	Header http.Header // the five headers of a valid upgrade; delete or replace them at will
	Early  []byte      // sent in the same write as the request, ahead of the 101
	From   string      // the local IP to dial from; "" leaves it to the kernel
}

// Option changes a Request.
type Option func(*Request)

// Header sets one header of the request; an empty value removes it.
func Header(name, value string) Option {
	return func(r *Request) {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
	}
}

// Method sends the request with another method.
func Method(m string) Option { return func(r *Request) { r.Method = m } }

// Early sends bytes right behind the request, without waiting for the 101.
func Early(p []byte) Option { return func(r *Request) { r.Early = p } }

// From dials from this local IP (127.0.0.2 and up widen the port range).
func From(ip string) Option { return func(r *Request) { r.From = ip } }

// Response is what the other side said to an upgrade request.
type Response struct {
	Status int
	Header http.Header
	Body   string // of a refusal
}

// Dial opens a WebSocket at addr and path, fails the test unless it is
// accepted, and closes it when the test ends.
func Dial(tb testing.TB, addr, path string, opts ...Option) *Peer {
	tb.Helper()
	p, resp, err := Try(addr, path, opts...)
	if err != nil {
		tb.Fatalf("wstest: dial %s%s: %v", addr, path, err)
	}
	if p == nil {
		tb.Fatalf("wstest: dial %s%s: refused with %d: %s", addr, path, resp.Status, resp.Body)
	}
	p.tb = tb
	tb.Cleanup(func() { p.NC.Close() })
	return p
}

// Refused asks for a WebSocket, fails the test if it is accepted, and returns
// the refusal.
func Refused(tb testing.TB, addr, path string, opts ...Option) Response {
	tb.Helper()
	p, resp, err := Try(addr, path, opts...)
	if err != nil {
		tb.Fatalf("wstest: dial %s%s: %v", addr, path, err)
	}
	if p != nil {
		p.NC.Close()
		tb.Fatalf("wstest: dial %s%s: accepted, wanted a refusal", addr, path)
	}
	return resp
}

// Try asks for a WebSocket and fails no test: it may run in any goroutine.
// The Peer is nil when the answer was not a 101; it has no testing.TB, so only
// its methods that return an error and those that send may be used on it, and
// its owner closes it.
func Try(addr, path string, opts ...Option) (*Peer, Response, error) {
	var key [16]byte
	rand.Read(key[:])
	r := &Request{Method: "GET", Path: path, Host: addr, Header: http.Header{}}
	r.Header.Set("Upgrade", "websocket")
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Sec-WebSocket-Version", "13")
	r.Header.Set("Sec-WebSocket-Key", base64.StdEncoding.EncodeToString(key[:]))
	for _, o := range opts {
		o(r)
	}
	nc, err := connect(addr, r.From)
	if err != nil {
		return nil, Response{}, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, r.Path, r.Host)
	r.Header.Write(&out)
	out.WriteString("\r\n")
	out.Write(r.Early)
	if _, err := nc.Write(out.Bytes()); err != nil {
		nc.Close()
		return nil, Response{}, err
	}
	p := &Peer{NC: nc, Masks: true, br: bufio.NewReader(nc)}
	nc.SetReadDeadline(time.Now().Add(Patience))
	resp, err := readResponse(p.br, r.Header.Get("Sec-WebSocket-Key"))
	nc.SetReadDeadline(time.Time{})
	if err != nil || resp.Status != http.StatusSwitchingProtocols {
		nc.Close()
		return nil, resp, err
	}
	return p, resp, nil
}

func connect(addr, from string) (*net.TCPConn, error) {
	var d net.Dialer
	if from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return nc.(*net.TCPConn), nil
}

func readResponse(br *bufio.Reader, key string) (Response, error) {
	hr, err := http.ReadResponse(br, nil)
	if err != nil {
		return Response{}, err
	}
	resp := Response{Status: hr.StatusCode, Header: hr.Header}
	if hr.StatusCode != http.StatusSwitchingProtocols {
		body, err := io.ReadAll(hr.Body)
		resp.Body = string(body)
		return resp, err
	}
	sum := sha1.Sum([]byte(key + magic))
	switch want := base64.StdEncoding.EncodeToString(sum[:]); {
	case hr.Header.Get("Sec-WebSocket-Accept") != want:
		return resp, fmt.Errorf("wstest: Sec-WebSocket-Accept %q, wanted %q", hr.Header.Get("Sec-WebSocket-Accept"), want)
	case !strings.EqualFold(hr.Header.Get("Upgrade"), "websocket"):
		return resp, fmt.Errorf("wstest: 101 with Upgrade %q", hr.Header.Get("Upgrade"))
	case !strings.EqualFold(hr.Header.Get("Connection"), "upgrade"):
		return resp, fmt.Errorf("wstest: 101 with Connection %q", hr.Header.Get("Connection"))
	}
	return resp, nil
}

// Accept plays the server: it accepts one connection from ln, answers its
// upgrade request with a 101 (and, in the same write, with early), and returns
// the peer and the request.
func Accept(tb testing.TB, ln net.Listener, early []byte) (*Peer, *http.Request) {
	tb.Helper()
	nc, err := ln.Accept()
	if err != nil {
		tb.Fatalf("wstest: accept: %v", err)
	}
	tb.Cleanup(func() { nc.Close() })
	p := &Peer{tb: tb, NC: nc.(*net.TCPConn), br: bufio.NewReader(nc)}
	nc.SetReadDeadline(time.Now().Add(Patience))
	req, err := http.ReadRequest(p.br)
	if err != nil {
		tb.Fatalf("wstest: reading the upgrade request: %v", err)
	}
	nc.SetReadDeadline(time.Time{})
	p.Raw(append(Switching(req.Header.Get("Sec-WebSocket-Key")), early...))
	return p, req
}

// Switching is a whole 101 response to this key.
func Switching(key string) []byte {
	sum := sha1.Sum([]byte(key + magic))
	return []byte("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
		base64.StdEncoding.EncodeToString(sum[:]) + "\r\n\r\n")
}
