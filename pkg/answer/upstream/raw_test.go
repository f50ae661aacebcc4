package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

// raw is an MCP server over HTTP that can say anything. It does the handshake and answers ping itself.
type raw struct {
	version string // protocolVersion it answers with; empty: what it was offered
	session string // Mcp-Session-Id it gives and demands; empty: none
	modern  bool   // server/discover is for answer to serve
	// initialize serves the handshake; nil: it is done.
	initialize func(w http.ResponseWriter, m message)
	// stream serves GET; nil: 405.
	stream func(w http.ResponseWriter, req *http.Request)
	// pinged is called before a ping is answered; nil: nothing.
	pinged func()
	// answer serves every other message.
	answer func(w http.ResponseWriter, m message)

	mu       sync.Mutex
	messages []message
}

type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage

	req *http.Request
	raw string
}

func (r *raw) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch req.Method {
	case http.MethodGet:
		if r.stream == nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		r.stream(w, req)
		return
	case http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
		return
	}
	body, err := io.ReadAll(req.Body)
	m := message{req: req, raw: string(body)}
	if err := errors.Join(err, json.Unmarshal(body, &m)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.messages = append(r.messages, m)
	r.mu.Unlock()
	switch {
	case m.Method == "initialize" && r.initialize != nil:
		r.initialize(w, m)
	case m.Method == "initialize":
		if r.session != "" {
			w.Header().Set("Mcp-Session-Id", r.session)
		}
		version := r.version
		if version == "" {
			version = offered
		}
		m.result(w, `{"protocolVersion":"`+version+`","capabilities":{},"serverInfo":{"name":"raw","version":"0"}}`)
	case m.Method == methodDiscover && !r.modern:
		m.json(w, http.StatusOK, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32601,"message":"Method not found"}}`)
	case r.session != "" && req.Header.Get("Mcp-Session-Id") != r.session:
		http.Error(w, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"}}`, http.StatusNotFound)
	case m.Method == "ping":
		if r.pinged != nil {
			r.pinged()
		}
		m.result(w, `{}`)
	case len(m.ID) == 0 || m.Method == "":
		w.WriteHeader(http.StatusAccepted)
	default:
		r.answer(w, m)
	}
}

func (r *raw) got(method string) (all []message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.messages {
		if m.Method == method {
			all = append(all, m)
		}
	}
	return all
}

func (m message) result(w http.ResponseWriter, result string) {
	m.json(w, http.StatusOK, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`)
}

func (m message) json(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// events begins a stream of events.
func events(w http.ResponseWriter) func(data string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	return func(data string) {
		fmt.Fprintf(w, "event: message\ndata: %s\n\n", data)
		w.(http.Flusher).Flush()
	}
}

func TestUnknownMembersPassByteForByte(t *testing.T) {
	const result = `{"content":[{"type":"new","x":1.0e+2,"dup":1,"dup":2}],"_meta":{"é\u0001":null},"later":{"big":12345678901234567890}}`
	const params = `{"name":"t","arguments":{"n":1.0,"dup":1,"dup":2},"_meta":{"progressToken":"x","k":[]},"later":true}`
	const note = `{"unknown":[1.00,{"a":"\u2028 "}],"n":12345678901234567890}`
	server := &raw{answer: func(w http.ResponseWriter, m message) {
		if strings.Contains(m.raw, `"asJSON"`) {
			m.result(w, result)
			return
		}
		send := events(w)
		send(`{"jsonrpc":"2.0","method":"notifications/of/tomorrow","params":` + note + `}`)
		send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)
	}}
	u := open(t, Config{URL: newSite(t, server).url()})
	heard := hear(t, u)
	if got := ask(t, u, codec.CallTool, `{"asJSON":1}`); got != result {
		t.Errorf("the result came as\n%s, want\n%s", got, result)
	}
	if got := ask(t, u, codec.CallTool, params); got != result {
		t.Errorf("the result came as\n%s, want\n%s", got, result)
	}
	if got := soon(t, heard); got != `{"method":"notifications/of/tomorrow","params":`+note+`}` {
		t.Errorf("heard %s", got)
	}
	calls := server.got("tools/call")
	if got := string(calls[len(calls)-1].Params); got != params {
		t.Errorf("the server got the params\n%s, want\n%s", got, params)
	}
	ask(t, u, codec.ListTools, "null")
	if lists := server.got("tools/list"); strings.Contains(lists[0].raw, "params") {
		t.Errorf("a list without params was sent as %s", lists[0].raw)
	}
}

func TestAnErrorOfTheServerIsRelayed(t *testing.T) {
	for _, c := range []struct {
		name, object string
		status       int
		want         codec.Error
	}{
		{"in a response", `{"code":-32002,"message":"no such","data":{"uri":"a:b","n":1.0}}`, 200, codec.Error{Code: -32002, Message: "no such", Data: []byte(`{"uri":"a:b","n":1.0}`)}},
		{"in a 400", `{"code":-32602,"message":"bad"}`, 400, codec.Error{Code: -32602, Message: "bad"}},
		{"in a 500", `{"code":-32603,"message":"down"}`, 500, codec.Error{Code: -32603, Message: "down"}},
		{"without an id", `{"code":-32700,"message":"what?"}`, 200, codec.Error{Code: -32700, Message: "what?"}},
		{"out of range", `{"code":5000000000,"message":"odd"}`, 200, codec.Error{Code: -32603, Message: "odd (the MCP server's error code 5000000000 is out of range)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := open(t, Config{URL: newSite(t, &raw{session: "s", answer: func(w http.ResponseWriter, m message) {
				id := `"id":` + string(m.ID) + `,`
				if c.name == "without an id" {
					id = ""
				}
				m.json(w, c.status, `{"jsonrpc":"2.0",`+id+`"error":`+c.object+`}`)
			}}).url()})
			for range 2 {
				got := fails(t, u, codec.ReadResource, `{"uri":"a:b"}`)
				if got.Code != c.want.Code || got.Message != c.want.Message || string(got.Data) != string(c.want.Data) {
					t.Errorf("relayed as %s, want %s", got.Append(nil), c.want.Append(nil))
				}
			}
			if s := u.Stats(); s.Sessions != 1 || s.Lost != 0 {
				t.Errorf("stats %+v", s)
			}
		})
	}
}

func TestABadAnswerFailsOneRequestAndNotTheSession(t *testing.T) {
	const limit = 1 << 20
	const none = "answer is none to this request"
	for _, c := range []struct {
		name, told, want string
		answer           func(w http.ResponseWriter, m message)
	}{
		{"plain 400", "refused the request (HTTP status 400)", "400 Bad Request: malformed", func(w http.ResponseWriter, _ message) { http.Error(w, "malformed\nsecond", 400) }},
		{"401", "refused the request (HTTP status 401)", "401 Unauthorized", func(w http.ResponseWriter, _ message) { w.WriteHeader(401) }},
		{"404 that is not about the session", "refused the request (HTTP status 404)", "404 Not Found: 404 page", func(w http.ResponseWriter, _ message) { http.NotFound(w, nil) }},
		{"503", "refused the request (HTTP status 503)", "503 Service Unavailable", func(w http.ResponseWriter, _ message) { w.WriteHeader(503) }},
		{"304", "refused the request (HTTP status 304)", "304 Not Modified", func(w http.ResponseWriter, _ message) { w.WriteHeader(304) }},
		{"202", none, "content type", func(w http.ResponseWriter, _ message) { w.WriteHeader(202) }},
		{"page", none, "text/html", func(w http.ResponseWriter, _ message) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<p>malformed")
		}},
		{"not JSON", none, "JSON", func(w http.ResponseWriter, m message) { m.json(w, 200, `{"jsonrpc":"2.0",`) }},
		{"empty", none, "JSON", func(w http.ResponseWriter, m message) { m.json(w, 200, ``) }},
		{"notification", none, "not a response", func(w http.ResponseWriter, m message) { m.json(w, 200, `{"jsonrpc":"2.0","method":"m"}`) }},
		{"request", none, "not a response", func(w http.ResponseWriter, m message) {
			m.json(w, 200, `{"jsonrpc":"2.0","method":"ping","id":`+string(m.ID)+`}`)
		}},
		{"no response", none, "JSON", func(w http.ResponseWriter, m message) { m.json(w, 200, `{}`) }},
		{"null", none, "JSON", func(w http.ResponseWriter, m message) { m.json(w, 200, `null`) }},
		{"batch", none, "batch", func(w http.ResponseWriter, m message) {
			m.json(w, 200, `[{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{}}]`)
		}},
		{"result of another id", none, "request 777", func(w http.ResponseWriter, m message) { m.json(w, 200, `{"jsonrpc":"2.0","id":777,"result":{}}`) }},
		{"error of another id", none, "request 777", func(w http.ResponseWriter, m message) {
			m.json(w, 200, `{"jsonrpc":"2.0","id":777,"error":{"code":1,"message":"malformed"}}`)
		}},
		{"id as a string", none, `request`, func(w http.ResponseWriter, m message) {
			m.json(w, 200, `{"jsonrpc":"2.0","id":"`+string(m.ID)+`","result":{}}`)
		}},
		{"another id with 201", none, "request 777", func(w http.ResponseWriter, m message) { m.json(w, 201, `{"jsonrpc":"2.0","id":777,"result":{}}`) }},
		{"error that cannot be read", none, "cannot be read", func(w http.ResponseWriter, m message) {
			m.json(w, 200, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":"malformed"}}`)
		}},
		{"too large", none, "over the limit of 1048576 bytes", func(w http.ResponseWriter, m message) { m.result(w, `"`+strings.Repeat("x", limit)+`"`) }},
		{"broken off", "lost before it answered", "broke off", func(w http.ResponseWriter, m message) {
			w.Header().Set("Content-Length", "1000")
			m.json(w, 200, `{"jsonrpc":"2.0",`)
		}},
		{"stream without an answer", "lost before it answered", "without response", func(w http.ResponseWriter, _ message) { events(w) }},
		{"stream of another answer", "lost before it answered", "without response", func(w http.ResponseWriter, _ message) {
			events(w)(`{"jsonrpc":"2.0","id":777,"result":{}}`)
		}},
		{"stream of a notification", "lost before it answered", "without response", func(w http.ResponseWriter, _ message) {
			events(w)(`{"jsonrpc":"2.0","method":"malformed"}`)
		}},
		{"stream that cannot be resumed", "lost before it answered", "without response", func(w http.ResponseWriter, _ message) {
			send := events(w)
			fmt.Fprint(w, "id: 41\nretry: 1\n")
			send(`{"jsonrpc":"2.0","method":"malformed"}`)
		}},
		{"connection cut", "lost before it answered", "EOF", func(http.ResponseWriter, message) { panic(http.ErrAbortHandler) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			site := newSite(t, &raw{session: "s", answer: func(w http.ResponseWriter, m message) {
				if m.Method == "tools/list" {
					m.result(w, `{"tools":[]}`)
					return
				}
				c.answer(w, m)
			}})
			log := &journal{}
			u := open(t, Config{URL: site.url() + "?key=secret", MaxMessage: limit, Logger: log.logger()})
			discreet(t, fails(t, u, codec.CallTool, "{}"), c.told)
			log.has(t, c.want)
			if text := log.String(); strings.Contains(text, "secret") || strings.Contains(text, "second") {
				t.Errorf("the log says too much:\n%s", text)
			}
			ask(t, u, codec.ListTools, "null")
			if s := u.Stats(); s.Sessions != 1 || s.Lost != 0 || s.Repeated != 0 {
				t.Errorf("stats %+v", s)
			}
		})
	}
}

func TestRequestsOfTheServerArePingOrDeclined(t *testing.T) {
	answered := make(chan message, 10)
	server := &raw{stream: func(w http.ResponseWriter, req *http.Request) {
		send := events(w)
		send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		send(`{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}`)
		send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`)
		<-req.Context().Done()
	}, answer: func(w http.ResponseWriter, m message) { m.result(w, `{"tools":[]}`) }}
	spy := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		server.ServeHTTP(w, req)
		server.mu.Lock()
		defer server.mu.Unlock()
		for _, m := range server.messages {
			if m.Method == "" {
				answered <- m
			}
		}
		server.messages = nil
	})
	u := open(t, Config{URL: newSite(t, spy).url()})
	heard := hear(t, u)
	got := map[string]string{}
	for range 2 {
		m := soon(t, answered)
		got[string(m.ID)] = string(m.Result) + string(m.Error)
	}
	if got[`"p"`] != `{}` || !strings.Contains(got[`7`], `"code":-32601`) {
		t.Fatalf("the answers are %v", got)
	}
	if n := soon(t, heard); !strings.Contains(n, "notifications/message") {
		t.Fatalf("heard %s: the server's word to us is not for the container", n)
	}
}

func TestTheStandaloneStreamIsResumedAndReopened(t *testing.T) {
	t.Parallel()
	opened := make(chan string, 100)
	var streams int
	var mu sync.Mutex
	server := &raw{session: "s", stream: func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		streams++
		n := streams
		mu.Unlock()
		opened <- req.Header.Get("Last-Event-Id") + "/" + req.Header.Get("Mcp-Session-Id") + "/" + req.Header.Get("Mcp-Protocol-Version")
		send := events(w)
		if n == 1 {
			fmt.Fprint(w, "id: 41\nretry: 1\n")
		}
		send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"n%d"}`, n))
		if n < 4 {
			return // the stream ends: the first one can be resumed, the others not
		}
		<-req.Context().Done()
	}, answer: func(w http.ResponseWriter, m message) { m.result(w, `{"tools":[]}`) }}
	u := open(t, Config{URL: newSite(t, server).url()})
	heard := hear(t, u)
	for i, want := range []string{"/s/2025-11-25", "41/s/2025-11-25", "/s/2025-11-25", "/s/2025-11-25"} {
		if got := soon(t, opened); got != want {
			t.Fatalf("stream %d was opened with %s, want %s", i+1, got, want)
		}
		if got, want := soon(t, heard), fmt.Sprintf(`{"method":"n%d"}`, i+1); got != want {
			t.Fatalf("heard %s, want %s", got, want)
		}
	}
	if s := u.Stats(); s.Lost != 0 {
		t.Fatalf("stats %+v", s)
	}
}

func TestOnlyKnownRevisionsAreAccepted(t *testing.T) {
	answer := func(w http.ResponseWriter, m message) { m.result(w, `{"tools":[]}`) }
	for _, version := range spoken {
		server := &raw{version: version, answer: answer}
		u := open(t, Config{URL: newSite(t, server).url()})
		ask(t, u, codec.ListTools, "null")
		if got := server.got("tools/list")[0].req.Header.Get("Mcp-Protocol-Version"); got != version {
			t.Errorf("revision %s was agreed, the request names %q", version, got)
		}
	}
	for _, version := range []string{"2026-07-28", "1999-01-01", "x"} {
		log := &journal{}
		u := open(t, Config{URL: newSite(t, &raw{version: version, answer: answer}).url(), Logger: log.logger()})
		discreet(t, fails(t, u, codec.ListTools, "null"), "cannot be reached")
		log.has(t, version)
	}
}

func TestAConnectionIsBegunWithTheFirstAskAndNotBefore(t *testing.T) {
	server := &raw{answer: func(w http.ResponseWriter, m message) { m.result(w, `{"tools":[]}`) }}
	u := open(t, Config{URL: newSite(t, server).url(), Name: "me", Version: "9"})
	if n := len(server.got("initialize")); n != 0 {
		t.Fatalf("%d sessions before the first ask", n)
	}
	for range 3 {
		ask(t, u, codec.ListTools, "null")
	}
	first := server.got("initialize")
	if len(first) != 1 {
		t.Fatalf("%d sessions after three asks", len(first))
	}
	const want = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"me","version":"9"}}`
	if string(first[0].Params) != want {
		t.Errorf("initialize has the params %s, want %s", first[0].Params, want)
	}
	ids := map[string]bool{}
	for _, m := range append(first, server.got("tools/list")...) {
		if ids[string(m.ID)] {
			t.Errorf("the id %s was used twice", m.ID)
		}
		ids[string(m.ID)] = true
	}
}

func TestAResultAGatewayCannotReadIsRelayedAsItIs(t *testing.T) {
	u := open(t, Config{URL: newSite(t, &raw{answer: func(w http.ResponseWriter, m message) { m.result(w, `{"odd":true}`) }}).url()})
	if got := ask(t, u, codec.ListTools, "null"); got != `{"odd":true}` {
		t.Fatalf("relayed as %s", got)
	}
}

func TestAfterCloseAsksFail(t *testing.T) {
	u := open(t, Config{URL: "http://127.0.0.1:1/mcp"})
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	discreet(t, fails(t, u, codec.ListTools, "null"), "cannot be reached")
	if err := u.Notifications(context.Background(), func([]byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

func TestConfigsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "neither"},
		{Config{URL: "http://h", Command: []string{"c"}}, "both"},
		{Config{URL: "ws://h"}, "http://"},
		{Config{URL: "http://"}, "http://"},
		{Config{URL: "http://h:x"}, "URL"},
		{Config{URL: "ftp://user:secret@h"}, "http://"},
	} {
		_, err := New(c.cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v, want a word about %s", c.cfg, err, c.want)
		}
	}
}
