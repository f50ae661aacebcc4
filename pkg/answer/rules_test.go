package answer

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

func TestG1_PathsAreAppendedToTheBaseWithItsTrailingSlashTrimmed(t *testing.T) {
	for _, c := range []struct{ suffix, container, want string }{
		{"", "c1", "/containers/c1"},
		{"/", "c1", "/containers/c1"},
		{"/below/", "a.b-c_1", "/below/containers/a.b-c_1"},
		{"", "", ""},
		{"/containers/c1/", "", "/containers/c1"},
	} {
		p := newProxy(t)
		r := run1(t, &Server{Gateway: p.url() + c.suffix, Container: c.container, Handler: fixed(`{"tools":[]}`, nil), Logger: quiet})
		a := next(t, p.requests)
		if got := a.req.URL.Path; got != c.want+"/requests" {
			t.Errorf("base %q, container %q: listens at %s", c.suffix, c.container, got)
		}
		r.line = a.accept()
		r.line.Binary(ask(7, codec.ListTools, "null"))
		taken(t, p, c.want+"/mcp/list-tools/7")
		r.stopped()
	}
}

func TestR3_EachKindIsAnsweredOnItsOwnPath(t *testing.T) {
	type heard struct {
		kind   codec.Kind
		params string
	}
	asks := make(chan heard, 1)
	p, line, _ := answering(t, handler{answer: func(_ context.Context, k codec.Kind, params []byte) ([]byte, error) {
		asks <- heard{k, string(params)}
		return []byte(`{"unknown":1.0}`), nil
	}})
	for _, c := range []struct {
		kind    codec.Kind
		payload string
		path    string
	}{
		{codec.ListTools, `null`, "/mcp/list-tools/1"},
		{codec.ListResources, `{"cursor":"x"}`, "/mcp/list-resources/258"},
		{codec.CallTool, `{"name":"t"}`, "/mcp/call-tool/65536"},
		{codec.ReadResource, ` {"uri":"a:b"} `, "/mcp/read-resource/4294967295"},
	} {
		_, channel, _ := codec.ParsePath([]byte(c.path))
		line.Binary(ask(channel, c.kind, c.payload))
		message := taken(t, p, "/containers/c1"+c.path)
		if got := soon(t, asks); got.kind != c.kind || got.params != c.payload {
			t.Errorf("the handler heard %v %s, want %v %s", got.kind, got.params, c.kind, c.payload)
		}
		if string(message) != "\x00"+`{"unknown":1.0}` {
			t.Errorf("the answer is %q", message)
		}
	}
}

func TestA3_GoldenAnswers(t *testing.T) {
	for _, c := range []struct {
		h    handler
		want string
	}{
		{fixed(`{"tools":[]}`, nil), "007b22746f6f6c73223a5b5d7d"},
		{fixed("", &codec.Error{Code: -32601, Message: "no"}), "017b22636f6465223a2d33323630312c226d657373616765223a226e6f227d"},
	} {
		p, line, _ := answering(t, c.h)
		line.Binary(ask(1, codec.ListTools, "null"))
		if got := hex.EncodeToString(taken(t, p, "/containers/c1/mcp/list-tools/1")); got != c.want {
			t.Errorf("the answer is %s, want %s", got, c.want)
		}
	}
}

func TestA3_AnErrorOfTheHandlerIsAnErrorFrame(t *testing.T) {
	for _, c := range []struct {
		h    handler
		want string
	}{
		{fixed("", &codec.Error{Code: 7, Message: "m", Data: []byte(`{"a":1e2}`)}), "\x01" + `{"code":7,"message":"m","data":{"a":1e2}}`},
		{fixed("", errors.New(`disk "full"`)), "\x01" + `{"code":-32603,"message":"the server failed while it served this ask"}`},
		{fixed("", nil), "\x01" + `{"code":-32603,"message":"the server has no result for tools/call"}`},
		{handler{answer: func(context.Context, codec.Kind, []byte) ([]byte, error) { panic("oops") }},
			"\x01" + `{"code":-32603,"message":"the server failed while it served this ask"}`},
	} {
		p, line, _ := answering(t, c.h)
		line.Binary(ask(1, codec.CallTool, `{}`))
		if got := string(taken(t, p, "/containers/c1/mcp/call-tool/1")); got != c.want {
			t.Errorf("the answer is %q, want %q", got, c.want)
		}
	}
}

func TestA6_NotServedIsACleanCloseWithoutAMessage(t *testing.T) {
	p, line, r := answering(t, fixed("", ErrNotServed))
	line.Binary(ask(1, codec.CallTool, `{}`))
	path := next(t, p.paths).accept()
	if code, _ := path.ReadClose(); code != 1000 {
		t.Fatalf("closed with %d, want 1000", code)
	}
	path.Close(1000)
	r.stopped()
	if n := r.Stats().Outcomes[codec.CallTool][NotServed]; n != 1 {
		t.Fatalf("%d asks counted as not served, want 1", n)
	}
}

func TestR4_BadParamsAreAnsweredWithoutTheHandler(t *testing.T) {
	p, line, _ := answering(t, handler{answer: func(context.Context, codec.Kind, []byte) ([]byte, error) {
		t.Error("the handler was called")
		return nil, nil
	}})
	for _, c := range []struct {
		kind    codec.Kind
		payload string
	}{
		{codec.CallTool, ``}, {codec.CallTool, `{`}, {codec.CallTool, `null`}, {codec.CallTool, `[]`},
		{codec.ReadResource, "{\"uri\":\"\xff\"}"}, {codec.ListTools, `[1]`}, {codec.ListResources, `{} {}`}, {codec.ListTools, ``},
	} {
		line.Binary(ask(5, c.kind, c.payload))
		message := string(taken(t, p, "/containers/c1/mcp/"+c.kind.Name()+"/5"))
		if !strings.HasPrefix(message, "\x01"+`{"code":-32602,`) {
			t.Errorf("%v %q is answered with %q, want a -32602", c.kind, c.payload, message)
		}
	}
}

func TestD4_TruncatedAndUnknownAsksAreSkipped(t *testing.T) {
	p, line, r := answering(t, fixed(`{"tools":[]}`, nil))
	line.Binary(nil)
	line.Binary([]byte{0, 0, 0, 1})
	line.Binary(ask(1, 5, "{}"))
	line.Binary(ask(1, 255, ""))
	line.Text([]byte("ignored"))
	line.Binary(ask(2, codec.ListTools, "null"))
	taken(t, p, "/containers/c1/mcp/list-tools/2")
	r.stopped()
	if s := r.Stats(); s.Truncated != 2 || s.UnknownKinds != 2 || s.Asks[codec.ListTools] != 1 {
		t.Fatalf("counted %d truncated, %d unknown, %d heard; want 2, 2, 1", s.Truncated, s.UnknownKinds, s.Asks[codec.ListTools])
	}
}

func TestD3_BytesOfAKind4PayloadAreIgnored(t *testing.T) {
	p, line, _ := answering(t, handler{notify: func(_ context.Context, send func([]byte) error) error {
		return send([]byte(`{"method":"notifications/tools/list_changed"}`))
	}})
	line.Binary(ask(3, codec.Notifications, "\xffwhat is this"))
	got := hex.EncodeToString(taken(t, p, "/containers/c1/mcp/notifications/3"))
	if want := "007b226d6574686f64223a226e6f74696669636174696f6e732f746f6f6c732f6c6973745f6368616e676564227d"; got != want {
		t.Fatalf("the message is %s, want %s", got, want)
	}
}

func TestA1_ARefusedPathIsDroppedQuietly(t *testing.T) {
	p, line, r := answering(t, fixed(`{"tools":[]}`, nil))
	for channel, status := range map[uint32]int{1: 404, 2: 409} {
		line.Binary(ask(channel, codec.ListTools, "null"))
		next(t, p.paths).refuse(status)
	}
	line.Binary(ask(3, codec.ListTools, "null"))
	taken(t, p, "/containers/c1/mcp/list-tools/3")
	r.stopped()
	if s := r.Stats(); s.Outcomes[codec.ListTools][Refused] != 2 || s.Outcomes[codec.ListTools][Answered] != 1 || s.PathFailures != 0 {
		t.Fatalf("outcomes %v, path failures %d", s.Outcomes[codec.ListTools], s.PathFailures)
	}
}

func TestR8_ThePathIsOpenedBeforeTheCallAndOutlivesTheConnection(t *testing.T) {
	called, release := make(chan struct{}), make(chan struct{})
	p, line, r := answering(t, handler{answer: func(ctx context.Context, _ codec.Kind, _ []byte) ([]byte, error) {
		close(called)
		<-release
		return []byte(`{"content":[]}`), ctx.Err()
	}})
	line.Binary(ask(1, codec.CallTool, "{}"))
	a := next(t, p.paths)
	select {
	case <-called:
		t.Fatal("the handler was called before its path was open")
	default:
	}
	path := a.accept()
	soon(t, called)
	line.Reset()
	r.line = next(t, p.requests).accept() // it listens again
	close(release)
	if got := string(path.ReadBinary()); got != "\x00"+`{"content":[]}` {
		t.Fatalf("the answer is %q", got)
	}
	path.ReadClose()
	path.Close(1000)
	r.line.Binary(ask(2, codec.CallTool, "[]"))
	taken(t, p, "/containers/c1/mcp/call-tool/2")
}

func TestA10_APathThatEndsUnderTheCallCancelsIt(t *testing.T) {
	for name, end := range map[string]func(*wstest.Peer){
		"closed cleanly": func(peer *wstest.Peer) { peer.Close(1000) },
		"reset":          (*wstest.Peer).Reset,
		"FIN":            (*wstest.Peer).FIN,
	} {
		t.Run(name, func(t *testing.T) {
			called, cancelled := make(chan struct{}), make(chan struct{})
			p, line, r := answering(t, handler{answer: func(ctx context.Context, _ codec.Kind, _ []byte) ([]byte, error) {
				close(called)
				<-ctx.Done()
				close(cancelled)
				return nil, ctx.Err()
			}})
			line.Binary(ask(1, codec.CallTool, "{}"))
			path := next(t, p.paths).accept()
			soon(t, called)
			end(path)
			soon(t, cancelled)
			r.stopped()
			if n := r.Stats().Outcomes[codec.CallTool][Abandoned]; n != 1 {
				t.Fatalf("%d asks counted as abandoned, want 1", n)
			}
		})
	}
}

func TestA4_AnAnswerWhosePathIsResetIsUnconfirmed(t *testing.T) {
	p, line, r := answering(t, fixed(`{"content":[]}`, nil))
	line.Binary(ask(1, codec.CallTool, "{}"))
	path := next(t, p.paths).accept()
	path.ReadBinary()
	path.Reset()
	line.Binary(ask(2, codec.CallTool, "{}")) // asked again, as a gateway would
	taken(t, p, "/containers/c1/mcp/call-tool/2")
	r.stopped()
	if o := r.Stats().Outcomes[codec.CallTool]; o[Unconfirmed] != 1 || o[Answered] != 1 {
		t.Fatalf("outcomes %v", o)
	}
}

func TestA4_ALargeAnswerThatIsResetHalfWayIsUnconfirmed(t *testing.T) {
	large := `{"content":["` + strings.Repeat("x", 8<<20) + `"]}`
	p, line, r := answering(t, fixed(large, nil))
	line.Binary(ask(1, codec.CallTool, "{}"))
	path := next(t, p.paths).accept()
	if _, err := path.NC.Read(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	path.Reset()
	line.Binary(ask(2, codec.CallTool, "{}"))
	if got := taken(t, p, "/containers/c1/mcp/call-tool/2"); string(got[1:]) != large {
		t.Fatalf("the second answer has %d bytes, want %d", len(got)-1, len(large))
	}
	r.stopped()
	if o := r.Stats().Outcomes[codec.CallTool]; o[Unconfirmed] != 1 || o[Answered] != 1 {
		t.Fatalf("outcomes %v", o)
	}
}

func TestA9_WhatTheGatewaySendsOnAPathIsIgnored(t *testing.T) {
	release := make(chan struct{})
	p, line, r := answering(t, handler{answer: func(ctx context.Context, _ codec.Kind, _ []byte) ([]byte, error) {
		<-release
		return []byte(`{"content":[]}`), ctx.Err()
	}})
	line.Binary(ask(1, codec.CallTool, "{}"))
	path := next(t, p.paths).accept()
	path.Binary([]byte("unexpected"))
	path.Text([]byte("text"))
	path.Ping(nil)
	path.ReadPong() // all of it has been read
	close(release)
	path.ReadBinary()
	path.ReadClose()
	path.Close(1000)
	r.stopped()
	if s := r.Stats(); s.Unexpected != 1 || s.Outcomes[codec.CallTool][Answered] != 1 {
		t.Fatalf("%d unexpected messages, outcomes %v", s.Unexpected, s.Outcomes[codec.CallTool])
	}
}
