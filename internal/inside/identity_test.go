package inside

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/diverge-network/gateway/internal/auth"
	"github.com/diverge-network/gateway/internal/auth/authtest"
	"github.com/diverge-network/gateway/pkg/stream"
)

// identified is connect with a token.
func (w *world) identified(path, token string) *mcpSession {
	w.t.Helper()
	s := &mcpSession{w: w, http: newClient(w.t), path: path}
	r := do(w.t, s.http, w.post(path, initializeBody, bearing(token))).is(200, "")
	if s.token = r.header.Get("Mcp-Session-Id"); s.token == "" {
		w.t.Fatal("initialize gave no session id")
	}
	return s
}

// TestG7_WhoMayDoWhatInside is the matrix of tokens, paths and methods.
func TestG7_WhoMayDoWhatInside(t *testing.T) {
	k := newKeyring(t)
	w := newWorld(t, k.asks)
	now := k.clock.Now()
	for _, c := range []struct {
		name, token string
		refused     Reason // whatever the path
		own         string
	}{
		{"none", "", "token-missing", ""},
		{"one of c1", k.of("c1"), "", "c1"},
		{"one of c2", k.of("c2"), "", "c2"},
		{"one of default", k.of("default"), "", "default"},
		{"one for the other listener", k.Token("c1", auth.Outside, now), "token-wrong-audience", ""},
		{"one for all containers", k.Token("*", auth.Outside, now), "token-wrong-audience", ""},
		{"one that has expired", k.Token("c1", auth.Inside, k.ended()), "token-expired", ""},
		{"one of other keys", authtest.New(t).Token("c1", auth.Inside, now), "token-bad-signature", ""},
		{"none that is one", "abc", "token-malformed", ""},
	} {
		for path, container := range map[string]string{"/mcp": "", "/containers/c1/mcp": "c1", "/containers/c2/mcp": "c2", "/containers/default/mcp": "default"} {
			for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
				want, status := c.refused, 401
				if want == "" && container != "" && container != c.own {
					want, status = ReasonForbidden, 403
				}
				counter := "refused inside " + string(want)
				before := w.observed.of(counter)
				body := initializeBody
				if method != http.MethodPost {
					body = ""
				}
				r := do(t, newClient(t), w.post(path, body, bearing(c.token), func(r *http.Request) { r.Method = method }))
				challenge := r.header.Get("WWW-Authenticate")
				if want == "" {
					if r.status == 401 || r.status == 403 || (method == http.MethodPost) != (r.status == 200) {
						t.Errorf("%s with %s, %s: %d %s", path, c.name, method, r.status, r.body)
					}
					continue
				}
				r.fails(status, codeTransport, "", "oken")
				if w.observed.of(counter) != before+1 {
					t.Errorf("%s with %s, %s: %q was not counted", path, c.name, method, counter)
				}
				if strings.HasPrefix(challenge, "Bearer ") != (status == 401) {
					t.Errorf("%s with %s, %s: WWW-Authenticate %q", path, c.name, method, challenge)
				}
			}
		}
	}
	for _, path := range []string{"/", "/containers/.x/mcp"} { // as before: no token makes a path of these
		do(t, newClient(t), w.post(path, initializeBody)).is(404, "")
	}
}

func TestG7_ARefusedRequestLeavesNoTraceAndItsBodyUnread(t *testing.T) {
	k := newKeyring(t)
	w := newWorld(t, k.asks)
	for _, token := range []string{"", "Authorization: Bearer " + k.of("c2") + "\r\n"} {
		// The body never comes.
		conn := w.raw("POST /containers/c1/mcp HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n" +
			"Accept: application/json, text/event-stream\r\n" + token + "Content-Length: 1000000\r\n\r\n")
		r := w.readResponse(bufio.NewReader(conn), "POST")
		if r.status != 401 && r.status != 403 || !r.closes {
			t.Errorf("%d %s, closes: %v", r.status, r.body, r.closes)
		}
	}
	if s := w.mux.Stats(); s.Containers != 0 {
		t.Errorf("%d containers began", s.Containers)
	}
}

func TestG7_APathWithoutAContainerIsTheTokens(t *testing.T) {
	k := newKeyring(t)
	w := newWorld(t, k.asks)
	s := w.identified("/mcp", k.of("c1"))
	p := w.provide("c1")
	call := s.start(callBody, bearing(k.of("c1")))
	p.result(p.next(), `{"content":[]}`)
	call.wait(200)
	if w.mux.Lookup("default") != nil {
		t.Error("the container default has begun")
	}
	// The same session by the other path of its container.
	s.path = "/containers/c1/mcp"
	s.send(pingBody, bearing(k.of("c1"))).is(200, "")
}

// TestG7_ASessionOfAnotherIsUnknown tries a session with each token at each path.
func TestG7_ASessionOfAnotherIsUnknown(t *testing.T) {
	k := newKeyring(t)
	w := newWorld(t, k.asks)
	s := w.identified("/mcp", k.of("c1"))
	w.identified("/mcp", k.of("c2"))
	for _, c := range []struct {
		path, own string
		status    int
	}{
		{"/mcp", "c1", 200}, {"/containers/c1/mcp", "c1", 200},
		{"/mcp", "c2", 404}, {"/containers/c2/mcp", "c2", 404},
		{"/containers/c1/mcp", "c2", 403}, {"/containers/c2/mcp", "c1", 403},
		{"/mcp", "", 401}, {"/containers/c1/mcp", "", 401},
	} {
		token := ""
		if c.own != "" {
			token = k.of(c.own)
		}
		s.path = c.path
		s.send(pingBody, bearing(token)).is(c.status, "")
		if c.status != 200 { // nor can it be listened to, or ended
			do(t, s.http, s.request("", method("GET"), bearing(token))).is(c.status, "")
			do(t, s.http, s.request("", method("DELETE"), bearing(token))).is(c.status, "")
		}
	}
	s.path = "/mcp"
	s.send(pingBody, bearing(k.Token("c1", auth.Inside, k.clock.Now().Add(1)))).is(200, "") // another token of c1's
}

func TestG7_RequestsOnOneConnectionAreJudgedEachByItsToken(t *testing.T) {
	k := newKeyring(t)
	w := newWorld(t, k.asks)
	one, two := k.of("c1"), k.of("c2")
	first, second := w.identified("/mcp", one), w.identified("/mcp", two)
	request := func(path, session, token string) string {
		extra := []string{fmt.Sprintf("Content-Length: %d", len(pingBody))}
		if token != "" {
			extra = append(extra, "Authorization: Bearer "+token)
		}
		return postHead(path, session, extra...) + pingBody
	}
	all := ""
	wanted := []int{200, 403, 200, 200, 401, 404, 200}
	for _, r := range []string{
		request("/containers/c1/mcp", first.token, one), request("/containers/c1/mcp", first.token, two),
		request("/mcp", first.token, one), request("/mcp", second.token, two),
		request("/mcp", first.token, ""), request("/mcp", first.token, two), request("/mcp", first.token, one),
	} {
		all += r
	}
	in := bufio.NewReader(w.raw(all))
	for i, status := range wanted {
		if r := w.readResponse(in, "POST"); r.status != status {
			t.Errorf("request %d: %d %s, want %d", i, r.status, r.body, status)
		}
	}
}

// TestG7_TheTokenBehindACallThatWasLeftIsJudged: the goroutine of the connection
// has left the call, and comes back to the next request.
func TestG7_TheTokenBehindACallThatWasLeftIsJudged(t *testing.T) {
	k := newKeyring(t)
	w := newWorld(t, k.asks)
	s, p := w.identified("/containers/c1/mcp", k.of("c1")), w.provide("c1")
	head := func(token string, length int) string {
		return postHead(s.path, s.token, fmt.Sprintf("Content-Length: %d", length), "Authorization: Bearer "+token)
	}
	conn := w.raw(head(k.of("c1"), len(callBody)) + callBody)
	asked := p.next()
	if _, err := io.WriteString(conn, head(k.of("c2"), len(pingBody))+pingBody); err != nil {
		t.Fatal(err)
	}
	p.result(asked, `{"content":[]}`)
	in := bufio.NewReader(conn)
	w.readResponse(in, "POST").is(200, "")
	w.readResponse(in, "POST").is(403, "")
}

func TestG7_ABrowserAsksWithoutAToken(t *testing.T) {
	k := newKeyring(t)
	w := newWorld(t, k.asks, func(o *options) { o.origins = []string{"https://app.example.com"} })
	from := with("Origin", "https://app.example.com")
	r := do(t, newClient(t), w.post("/containers/c1/mcp", "", method("OPTIONS"), from,
		with("Access-Control-Request-Method", "POST"), with("Access-Control-Request-Headers", "authorization, content-type"))).is(204, "")
	if !strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("%v", r.header)
	}
	r = do(t, newClient(t), w.post("/containers/c1/mcp", initializeBody, from)).is(401, "")
	if r.header.Get("Access-Control-Allow-Origin") != "https://app.example.com" || !strings.Contains(r.header.Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
		t.Errorf("the page cannot read its 401: %v", r.header)
	}
	if w.mux.Stats().Containers != 0 {
		t.Error("a container has begun")
	}
}

func TestG8_AStreamEndsWithItsTokenAndACallDoesNot(t *testing.T) {
	k := newKeyring(t)
	w := newWorld(t, k.asks)
	token := k.of("c1")
	s, p := w.identified("/containers/c1/mcp", token), w.provide("c1")
	call := s.start(callBody, bearing(token))
	asked := p.next()
	get := s.listen("Authorization: Bearer " + token)
	subscription := (&mcpSession{w: w}).readHead(w.raw(subscribeRequest(`"l"`, toolsTopic, "Authorization: Bearer "+token)))
	subscription.block()
	await(t, "both streams", func() bool { return w.streams.Streams.Load() == 2 })
	w.handler.rejudge()
	if n := w.streams.Streams.Load(); n != 2 {
		t.Fatalf("%d streams are open while their token is good", n)
	}
	k.expire()
	w.handler.rejudge()
	get.ends()
	if rest, err := io.ReadAll(subscription.in); err != nil || !strings.Contains(string(rest), `"result":{`) {
		t.Errorf("the subscription ended with %q, %v", rest, err)
	}
	await(t, "both are counted", func() bool { return w.streams.Closed[stream.CloseToken].Load() == 2 })
	p.result(asked, `{"content":[]}`)
	call.wait(200)
	s.send(pingBody, bearing(token)).fails(401, codeTransport, "", "expired")
	s.send(pingBody, bearing(k.of("c1"))).is(200, "") // the session is another matter
}

// lockedLog is a log that is read at the end.
type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestNoLogLineOfARefusalHoldsAToken(t *testing.T) {
	k := newKeyring(t)
	var log lockedLog
	w := newWorld(t, k.asks, func(o *options) {
		o.logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	token := k.of("c2")
	for _, path := range []string{"/containers/c1/mcp", "/containers/c1/mcp?access_token=" + token, "/nowhere?" + token} {
		for _, bears := range []string{token, token + "x", token[:len(token)-9] + "AAAAAAAAA", ""} {
			r := do(t, newClient(t), w.post(path, pingBody, bearing(bears)))
			for _, part := range strings.Split(token, ".") {
				if strings.Contains(r.body, part) || strings.Contains(fmt.Sprint(r.header), part) {
					t.Errorf("the response holds a part of the token: %s", r.body)
				}
			}
		}
	}
	if !strings.Contains(log.String(), "token-of-another") {
		t.Errorf("nothing was logged: %s", log.String())
	}
	for _, part := range strings.Split(token, ".") {
		if strings.Contains(log.String(), part) {
			t.Errorf("the log holds a part of the token:\n%s", log.String())
		}
	}
}
