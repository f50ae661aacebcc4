package answer

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

func TestAFleetsFieldsThatMakeNoSenseAreRefused(t *testing.T) {
	h := func(string) (Handler, func(), error) { return nil, nil, nil }
	for _, c := range []struct {
		f    *Fleet
		want string
	}{
		{&Fleet{Gateway: "ws://h"}, "Fleet.Handler"},
		{&Fleet{Gateway: "http://h", Handler: h}, "Fleet.Gateway"},
		{&Fleet{Gateway: "ws://h:x", Handler: h}, "Fleet.Gateway"},
		{&Fleet{Gateway: "ws://h?a=b", Handler: h}, "query"},
		{&Fleet{Gateway: "ws://h", Handler: h, Dials: -1}, "Dials"},
	} {
		if err := c.f.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("gateway %q: %v, want a word about %s", c.f.Gateway, err, c.want)
		}
	}
}

// runFleet runs a fleet until the returned function is called.
func runFleet(t *testing.T, f *Fleet) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	return func() {
		cancel()
		if err := soon(t, done); err != nil {
			t.Errorf("Run returned %v", err)
		}
	}
}

func TestG6_TheListIsRequestedBelowTheBase(t *testing.T) {
	p := newProxy(t)
	connected := make(chan struct{})
	stop := runFleet(t, &Fleet{
		Gateway: p.url() + "/below/",
		Handler: func(string) (Handler, func(), error) { return fixed(`{}`, nil), nil, nil },
		Header:  http.Header{"Authorization": {"Bearer x"}},
		Logger:  quiet,
		Hooks:   Hooks{Connected: func() { close(connected) }},
	})
	list := next(t, p.lists)
	if r := list.req; r.Method != http.MethodGet || r.RequestURI != "/below/containers" || r.Header.Get("Authorization") != "Bearer x" ||
		r.Header.Get("Accept") != "application/x-ndjson" || r.ProtoMinor != 1 {
		t.Errorf("the list is requested with %s %s, %v", r.Method, r.RequestURI, r.Header)
	}
	fmt.Fprint(list.nc, "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n{\"came\":\"a.b\"}\n")
	line := next(t, p.requests)
	if line.req.URL.Path != "/below/containers/a.b/requests" || line.req.Header.Get("Authorization") != "Bearer x" {
		t.Errorf("listens at %s with %v", line.req.URL.Path, line.req.Header)
	}
	peer := line.accept()
	soon(t, connected)
	fmt.Fprint(list.nc, "{\"complete\":1}\n{\"went\":\"a.b\"}\n")
	if code, _ := peer.ReadClose(); code != 1000 {
		t.Errorf("closed with %d", code)
	}
	peer.Close(1000)
	stop()
	if _, err := list.nc.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the list is not closed behind Run: %v", err)
	}
	list.nc.Close()
}

func TestG6_ARefusedListIsLoggedWithItsReasonAndRequestedAgain(t *testing.T) {
	var log record
	p := newProxy(t)
	f := &Fleet{
		Gateway: p.url(),
		Handler: func(string) (Handler, func(), error) { return nil, nil, nil },
		Logger:  slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	stop := runFleet(t, f)
	for _, answer := range []string{
		"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot here\n",
		"HTTP/1.1 302 Found\r\nLocation: /elsewhere/containers\r\n\r\n",
		"SMTP\r\n\r\n",
		"",
	} {
		list := next(t, p.lists)
		fmt.Fprint(list.nc, answer)
		list.nc.Close()
	}
	list := next(t, p.lists)
	if list.req.URL.Path != "/containers" {
		t.Errorf("requested %s", list.req.URL.Path)
	}
	stop()
	list.nc.Close()
	if len(log.what) != 1 || !strings.Contains(log.what[0], "404 Not Found: not here") {
		t.Errorf("logged %q", log.what)
	}
}

func TestG6_TheListComesOverTLSForWss(t *testing.T) {
	gateway := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/containers" {
			fmt.Fprint(w, "{\"came\":\"a\"}\n{\"complete\":1}\n")
			w.(http.Flusher).Flush()
			<-req.Context().Done()
			return
		}
		nc, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer nc.Close()
		if _, err := nc.Write(wstest.Switching(req.Header.Get("Sec-WebSocket-Key"))); err != nil {
			return
		}
		if f, err := wstest.ReadFrame(rw.Reader); err == nil && f.Op == wstest.OpClose {
			_, _ = nc.Write(wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpClose, Payload: f.Payload}))
		}
	}))
	gateway.EnableHTTP2 = true // which the list must not use: its gateway does not speak it
	gateway.StartTLS()
	defer gateway.Close()
	roots := x509.NewCertPool()
	roots.AddCert(gateway.Certificate())
	connected := make(chan struct{})
	stop := runFleet(t, &Fleet{
		Gateway: "wss" + strings.TrimPrefix(gateway.URL, "https"),
		Handler: func(string) (Handler, func(), error) { return fixed(`{}`, nil), nil, nil },
		TLS:     &tls.Config{RootCAs: roots},
		Logger:  quiet,
		Hooks:   Hooks{Connected: func() { close(connected) }},
	})
	soon(t, connected)
	stop()
}

func TestG6_AListOfAnyLengthIsRead(t *testing.T) {
	p := newProxy(t)
	f := &Fleet{Gateway: p.url(), Logger: quiet, Handler: func(string) (Handler, func(), error) { return nil, nil, nil }}
	stop := runFleet(t, f)
	list := next(t, p.lists)
	var lines bytes.Buffer
	lines.WriteString("HTTP/1.1 200 OK\r\n\r\n")
	for range 100_000 {
		lines.WriteString(`{"came":".none"}` + "\n")
	}
	lines.WriteString(`{"complete":100000}` + "\n" + `{"came":"a"}` + "\n")
	if _, err := list.nc.Write(lines.Bytes()); err != nil {
		t.Error(err)
	}
	next(t, p.requests).refuse(409)
	if st := f.Stats(); !st.Following || st.UnknownIDs != 100_000 {
		t.Errorf("stats %+v", st)
	}
	stop()
	list.nc.Close()
}
