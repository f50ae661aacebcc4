package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// changes waits for the two notifications that follow a new session, and passes over others.
func changes(t *testing.T, heard <-chan string) {
	t.Helper()
	for _, want := range []string{toolsChangedText, resourcesChangedText} {
		for soon(t, heard) != want {
		}
	}
}

func TestTheNotificationsPathSurvivesARestartAndBothListsAreAnnounced(t *testing.T) {
	for name, options := range map[string]*mcp.StreamableHTTPOptions{"streams": nil, "JSON": {JSONResponse: true}} {
		t.Run(name, func(t *testing.T) {
			site := newSite(t, served(t, newServer(nil), options))
			u := open(t, Config{URL: site.url()})
			heard := hear(t, u)
			ask(t, u, codec.ListTools, "null")
			for range 2 {
				site.down()
				got := fails(t, u, codec.ListTools, "null")
				if strings.Contains(got.Message, "lost before it answered") { // it went out on a connection that was just ending
					got = fails(t, u, codec.ListTools, "null")
				}
				discreet(t, got, "cannot be reached")
				site.up(served(t, newServer(nil), options))
				changes(t, heard)
				ask(t, u, codec.ListTools, "null")
			}
			if s := u.Stats(); s.Sessions != 3 || s.Lost != 2 {
				t.Fatalf("stats %+v", s)
			}
		})
	}
}

func TestAServerThatIsNotThereYet(t *testing.T) {
	site := newSite(t, http.NotFoundHandler())
	site.down()
	log := &journal{}
	u := open(t, Config{URL: site.url(), Logger: log.logger()})
	heard := hear(t, u)
	for range 2 {
		discreet(t, fails(t, u, codec.CallTool, "{}"), "cannot be reached")
	}
	log.has(t, "connection refused")
	site.up(served(t, newServer(nil), nil))
	changes(t, heard)
	ask(t, u, codec.ListTools, "null")
}

func TestAServerThatRefusesTheHandshake(t *testing.T) {
	log := &journal{}
	u := open(t, Config{URL: newSite(t, http.NotFoundHandler()).url(), Logger: log.logger()})
	discreet(t, fails(t, u, codec.ListTools, "null"), "cannot be reached")
	log.has(t, "initialize: HTTP status 404 Not Found")
}

func TestAHandshakeThatHangsIsGivenUp(t *testing.T) {
	release := make(chan struct{})
	site := newSite(t, http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-release:
		case <-req.Context().Done():
		}
	}))
	defer close(release)
	log := &journal{}
	debug := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	u := open(t, Config{URL: site.url(), ConnectTimeout: 50 * time.Millisecond, Logger: debug})
	for range 3 {
		discreet(t, fails(t, u, codec.ListTools, "null"), "cannot be reached")
	}
	log.has(t, "did not end within 50ms")
	log.has(t, "upstream="+site.url())
	site.down()
	until(t, "other cause", func() bool { return log.count("connection refused") > 1 })
	warnedOncePerCause(t, log)
}

var attempt = regexp.MustCompile(`level=([A-Z]+) msg="cannot connect to the MCP server; trying again".* error=(.*)`)

// warnedOncePerCause wants a warning of each failed attempt whose cause is not that of the one before, and of no other.
func warnedOncePerCause(t *testing.T, log *journal) {
	t.Helper()
	last := ""
	for _, line := range attempt.FindAllStringSubmatch(log.String(), -1) {
		cause := shape(errors.New(line[2]))
		if warned := line[1] == "WARN"; warned != (cause != last) {
			t.Errorf("logged:\n%s", log)
			return
		}
		last = cause
	}
	if last == "" {
		t.Errorf("no attempt is logged:\n%s", log)
	}
}

func TestACallInFlightIsNotRepeatedWhenTheServerDies(t *testing.T) {
	box := newToolbox()
	site := newSite(t, served(t, newServer(box), nil))
	u := open(t, Config{URL: site.url()})
	heard := hear(t, u)
	failed := make(chan *codec.Error, 1)
	go func() { failed <- fails(t, u, codec.CallTool, `{"name":"wait","arguments":{}}`) }()
	soon(t, box.started)
	site.down()
	discreet(t, soon(t, failed), "was lost before it answered")
	site.up(served(t, newServer(box), nil))
	changes(t, heard) // an attempt to connect that was under way may fail yet
	ask(t, u, codec.ListTools, "null")
	close(box.release)
	if len(box.started) != 0 {
		t.Fatal("the tool was run again")
	}
}

// forgetful is a server that forgets its sessions when told to, and refuses the forgotten ones with this status.
type forgetful struct {
	raw
	status int
	lives  sync.Map // sessions
	begun  int
	calls  map[string]int // executed, by params
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	f.raw.mu.Lock()
	if req.Header.Get("Mcp-Session-Id") == "" {
		f.begun++
		session := fmt.Sprint("s", f.begun)
		f.lives.Store(session, true)
		f.raw.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", session)
		f.raw.ServeHTTP(w, req)
		return
	}
	f.raw.mu.Unlock()
	if _, ok := f.lives.Load(req.Header.Get("Mcp-Session-Id")); !ok {
		http.Error(w, "who are you?", f.status)
		return
	}
	f.raw.ServeHTTP(w, req)
}

func newForgetful(status int) *forgetful {
	f := &forgetful{status: status, calls: map[string]int{}}
	f.raw.answer = func(w http.ResponseWriter, m message) {
		f.raw.mu.Lock()
		f.calls[string(m.Params)]++
		f.raw.mu.Unlock()
		m.result(w, `{"content":[]}`)
	}
	return f
}

func TestACallToAForgottenSessionIsMadeInANewOneOnce(t *testing.T) {
	for _, status := range []int{404, 400} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			f := newForgetful(status)
			u := open(t, Config{URL: newSite(t, f).url()})
			heard := hear(t, u)
			ask(t, u, codec.CallTool, `{"n":0}`)
			f.lives.Clear()
			const many = 30
			ctx := patient(t)
			var group sync.WaitGroup
			for i := range many {
				group.Go(func() {
					if _, err := u.Answer(ctx, codec.CallTool, fmt.Appendf(nil, `{"n":%d}`, i+1)); err != nil {
						t.Errorf("call %d: %v", i+1, err)
					}
				})
			}
			group.Wait()
			changes(t, heard)
			for i := range many + 1 {
				if n := f.calls[fmt.Sprintf(`{"n":%d}`, i)]; n != 1 {
					t.Errorf("call %d was executed %d times", i, n)
				}
			}
			if s := u.Stats(); s.Sessions != 2 || s.Lost != 1 || s.Repeated == 0 {
				t.Errorf("stats %+v", s)
			}
		})
	}
}

func TestACallIsRepeatedOnlyOnce(t *testing.T) {
	f := newForgetful(404)
	f.raw.answer = func(w http.ResponseWriter, m message) {
		f.lives.Clear() // every call finds its session gone
		http.Error(w, "who are you?", 404)
	}
	log := &journal{}
	u := open(t, Config{URL: newSite(t, f).url(), Logger: log.logger()})
	discreet(t, fails(t, u, codec.CallTool, `{}`), "was lost before it answered")
	log.has(t, "404 Not Found: who are you?")
	if n := len(f.raw.got("tools/call")); n != 2 {
		t.Fatalf("the call was sent %d times, want 2", n)
	}
}

func TestAnAskStopsWaitingForAServerWithItsPath(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	arrived := make(chan struct{}, 10)
	site := newSite(t, http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		arrived <- struct{}{}
		select {
		case <-release:
		case <-req.Context().Done():
		}
	}))
	u := open(t, Config{URL: site.url()})
	ctx, cancel := context.WithCancelCause(context.Background())
	reason := errors.New("the path ended")
	failed := make(chan error, 1)
	go func() {
		_, err := u.Answer(ctx, codec.ListTools, []byte("null"))
		failed <- err
	}()
	soon(t, arrived)
	cancel(reason)
	if err := soon(t, failed); !errors.Is(err, reason) {
		t.Fatalf("the ask failed with %v", err)
	}
}
