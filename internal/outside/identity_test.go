package outside

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/auth"
	"github.com/diverge-network/gateway/internal/auth/authtest"
	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

// keyring makes the tokens of a world, which judges them by its clock.
type keyring struct {
	*authtest.Keyring
	passed atomic.Int64 // time.Duration
}

func newKeyring(t testing.TB) *keyring { return &keyring{Keyring: authtest.New(t)} }

func (k *keyring) now() time.Time {
	return time.Unix(1_800_000_000, 0).Add(time.Duration(k.passed.Load()))
}

// asks has a world ask for tokens.
func (k *keyring) asks(s *setup) { s.config.Keys, s.now = k.Open(), k.now }

// of is a good token of a container's server.
func (k *keyring) of(subject string) string { return k.Token(subject, auth.Outside, k.now()) }

// expire has all tokens expire that were made until now.
func (k *keyring) expire() { k.passed.Add(int64(authtest.TokenTime + auth.Leeway)) }

func bearing(token string) wstest.Option {
	if token == "" {
		return wstest.Header("Authorization", "")
	}
	return wstest.Header("Authorization", "Bearer "+token)
}

// TestG7_WhoMayDoWhatOutside is the matrix of tokens and paths.
func TestG7_WhoMayDoWhatOutside(t *testing.T) {
	k := newKeyring(t)
	w := begin(t, k.asks)
	ended := k.now().Add(-authtest.TokenTime - auth.Leeway)
	for _, c := range []struct {
		name, token string
		refused     Reason // whatever the path
		own         string
	}{
		{"none", "", "token-missing", ""},
		{"one of a1", k.of("a1"), "", "a1"},
		{"one of a2", k.of("a2"), "", "a2"},
		{"one of default", k.of("default"), "", "default"},
		{"one of all", k.of("*"), "", "*"},
		{"one for the other listener", k.Token("a1", auth.Inside, k.now()), "token-wrong-audience", ""},
		{"one that has expired", k.Token("a1", auth.Outside, ended), "token-expired", ""},
		{"one of other keys", authtest.New(t).Token("*", auth.Outside, k.now()), "token-bad-signature", ""},
		{"none that is one", "abc", "token-malformed", ""},
	} {
		for path, container := range map[string]string{
			"/requests": "", "/mcp/call-tool/7": "", "/mcp/notifications/7": "",
			"/containers/a1/requests": "a1", "/containers/a1/mcp/call-tool/7": "a1", "/containers/a1/mcp/notifications/7": "a1",
			"/containers/a2/requests": "a2", "/containers/a2/mcp/read-resource/7": "a2",
			"/containers/default/requests": "default", "/containers": "*",
		} {
			want, status := c.refused, 401
			switch {
			case want != "" || c.own == "*" && container != "" || container == c.own:
			case container == "" && c.own == "*":
				want, status = ReasonNoOwnPath, 404
			case container != "":
				want, status = ReasonForbidden, 403
			}
			before := w.counts.refusals(want)
			if path == "/containers" && want == "" {
				l := w.list(w.plain(), "GET /containers HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer "+c.token+"\r\n\r\n")
				l.snapshot()
				continue
			}
			peer, r, err := wstest.Try(w.addr, path, bearing(c.token))
			if err != nil {
				t.Fatal(err)
			}
			if peer != nil {
				peer.NC.Close()
				eventually(t, "the claim is free again", func() bool { return w.mux.Stats().Connected == 0 })
			}
			if want == "" {
				if strings.HasSuffix(path, "/requests") != (peer != nil) || peer == nil && r.Status != 404 {
					t.Errorf("%s with %s: %d %s", path, c.name, r.Status, r.Body)
				}
				continue
			}
			if peer != nil {
				t.Errorf("%s with %s was opened", path, c.name)
				continue
			}
			challenge := r.Header.Get("WWW-Authenticate")
			if r.Status != status || w.counts.refusals(want) != before+1 || strings.HasPrefix(challenge, "Bearer ") != (status == 401) {
				t.Errorf("%s with %s: %d %s, challenge %q; want %d for %s", path, c.name, r.Status, r.Body, challenge, status, want)
			}
			oneLineOfText(t, r)
		}
	}
	if strings.Contains(w.log.String(), strings.SplitN(k.of("a1"), ".", 3)[1]) {
		t.Error("the log holds a part of a token")
	}
}

func TestG7_ARefusedServerProbesAndBeginsNothing(t *testing.T) {
	k := newKeyring(t)
	w := begin(t, k.asks)
	p := w.provider("a1", bearing(k.of("a1")))
	for _, token := range []string{"", k.of("a2"), "abc"} {
		wstest.Refused(t, w.addr, "/containers/a1/requests", bearing(token))
		wstest.Refused(t, w.addr, "/containers/a3/requests", bearing(token))
	}
	p.quiet() // no claim was tried, so the holder was not probed
	if w.mux.Lookup("a3") != nil {
		t.Error("a container has begun")
	}
}

// TestG7_AnAnswerPathNeedsATokenOfItsContainer: a channel that is asked is no
// pass, and one of another container is 404 on the token's own paths.
func TestG7_AnAnswerPathNeedsATokenOfItsContainer(t *testing.T) {
	k := newKeyring(t)
	w := begin(t, k.asks)
	p := w.provider("a1", bearing(k.of("a1")))
	caller := w.ask("a1", codec.CallTool, toolAsk)
	ask := p.call()
	at := path(ask.Kind, ask.Channel)
	for _, c := range []struct {
		path, token string
		status      int
	}{
		{p.base + at, "", 401}, {p.base + at, k.of("a2"), 403}, {at, k.of("a2"), 404}, {at, k.of("*"), 404},
		{"/containers/a2" + at, k.of("a2"), 404}, {"/containers/a2" + at, k.of("a1"), 403},
	} {
		if r := wstest.Refused(t, w.addr, c.path, bearing(c.token)); r.Status != c.status {
			t.Errorf("%s: %d %s, want %d", c.path, r.Status, r.Body, c.status)
		}
	}
	peer := wstest.Dial(t, w.addr, at, bearing(k.of("a1"))) // without a prefix it is the token's
	peer.BinaryAndClose(result(toolAnswer))
	peer.ReadClose()
	caller.answered(toolAnswer)
}

func TestG7_RequestsOnOneConnectionToOutsideAreJudgedEachByItsToken(t *testing.T) {
	k := newKeyring(t)
	w := begin(t, k.asks)
	c := w.plain()
	get := func(path, token string) string {
		return fmt.Sprintf("GET %s HTTP/1.1\r\n%sAuthorization: Bearer %s\r\n\r\n", path, upgradeHeaders, token)
	}
	if _, err := io.WriteString(c, get("/containers/a1/requests", k.of("a2"))+get("/requests", k.of("*"))+
		"GET /containers/a1/requests HTTP/1.1\r\n"+upgradeHeaders+"\r\n"+get("/containers/a1/requests", k.of("a1"))); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	for _, want := range []int{403, 404, 401, http.StatusSwitchingProtocols} {
		if got := readReply(t, r); got.StatusCode != want {
			t.Errorf("%d %s, want %d", got.StatusCode, got.text, want)
		}
	}
}

func TestG8_SocketsEndWithTheirTokenAndAnswersDoNot(t *testing.T) {
	k := newKeyring(t)
	w := begin(t, k.asks)
	p := w.provider("a1", bearing(k.of("a1")))
	l := w.list(w.plain(), "GET /containers HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer "+k.of("*")+"\r\n\r\n")
	l.snapshot()
	first, second := w.ask("a1", codec.CallTool, toolAsk), w.ask("a1", codec.ListTools, "null")
	ask, unopened := p.call(), p.call()
	answering := p.open(ask, bearing(k.of("a1")))
	telling := p.open(p.notifications(), bearing(k.of("a1")))
	p.dealtWith(answering)
	p.dealtWith(telling)
	w.handler.rejudge()
	p.dealtWith(telling) // nothing has ended
	k.expire()
	w.handler.rejudge()
	for {
		f := p.requests.Read()
		if f.Op == wstest.OpClose {
			if code := int(f.Payload[0])<<8 | int(f.Payload[1]); code != 1008 {
				t.Errorf("/requests was closed with %d", code)
			}
			break
		}
	}
	p.requests.Close(1000)
	telling.ReadGone()
	for {
		if _, err := l.lines.ReadString('\n'); err != nil {
			break
		}
	}
	// The answer that was begun is accepted. What was not, waits for who has a token.
	answering.BinaryAndClose(result(toolAnswer))
	answering.ReadClose()
	first.answered(toolAnswer)
	if r := wstest.Refused(t, w.addr, p.base+"/requests", bearing(k.Token("a1", auth.Outside, k.now().Add(-authtest.TokenTime-auth.Leeway)))); r.Status != 401 || !strings.Contains(r.Body, "expired") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	eventually(t, "the claim is free", func() bool { return w.mux.Stats().Connected == 0 })
	p.connect(bearing(k.of("a1")))
	again := p.call()
	if again.Kind != unopened.Kind || again.Channel == unopened.Channel {
		t.Errorf("asked again: %+v, was %+v", again, unopened)
	}
	peer := p.open(again, bearing(k.of("a1")))
	peer.BinaryAndClose(result(bodies[codec.ListTools]))
	peer.ReadClose()
	second.answered(bodies[codec.ListTools])
}
