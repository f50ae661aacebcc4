package upstream

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	modernVersion = "2026-07-28"
	discovered    = `{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"raw","version":"7"}}}`
)

// modern is a server of the stateless revision that can say anything. Without listen it knows no subscriptions.
func modern(listen, answer func(w http.ResponseWriter, m message)) *raw {
	return &raw{modern: true, answer: func(w http.ResponseWriter, m message) {
		switch {
		case m.Method == methodDiscover:
			m.result(w, discovered)
		case m.Method != methodListen:
			answer(w, m)
		case listen == nil:
			m.fails(w, http.StatusNotFound, -32601)
		default:
			listen(w, m)
		}
	}}
}

func noTools(w http.ResponseWriter, m message) { m.result(w, `{"tools":[]}`) }

func (m message) fails(w http.ResponseWriter, status, code int) {
	m.json(w, status, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`, m.ID, code))
}

// speaks is the revision spoken with the server now.
func (k *keeper) speaks() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.standing.session == nil {
		return ""
	}
	return k.standing.session.version
}

func TestTheEraIsFoundOutByAsking(t *testing.T) {
	hanging := make(chan struct{})
	t.Cleanup(func() { close(hanging) })
	refuse := func(status, code int) func(w http.ResponseWriter, m message) {
		return func(w http.ResponseWriter, m message) { m.fails(w, status, code) }
	}
	unsupported := func(supported string) func(w http.ResponseWriter, m message) {
		first := true
		return func(w http.ResponseWriter, m message) {
			if !first {
				m.result(w, discovered)
				return
			}
			first = false
			m.json(w, 400, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32022,"message":"no","data":{"supported":[`+supported+`],"requested":"2026-07-28"}}}`)
		}
	}
	for _, c := range []struct {
		name     string
		discover func(w http.ResponseWriter, m message)
		want     string
		asked    int
	}{
		{"a result", func(w http.ResponseWriter, m message) { m.result(w, discovered) }, modernVersion, 1},
		{"on a stream", func(w http.ResponseWriter, m message) {
			events(w)(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + discovered + `}`)
		}, modernVersion, 1},
		{"serverInfo that is none", func(w http.ResponseWriter, m message) {
			m.result(w, `{"supportedVersions":["2026-07-28"],"_meta":{"io.modelcontextprotocol/serverInfo":[1]}}`)
		}, modernVersion, 1},
		{"with a session id", func(w http.ResponseWriter, m message) {
			w.Header().Set("Mcp-Session-Id", "x")
			m.result(w, discovered)
		}, modernVersion, 1},
		{"-32022 with a revision in common", unsupported(`"2099-01-01","2026-07-28"`), modernVersion, 2},
		{"-32022 with none", unsupported(`"2099-01-01","2025-11-25"`), offered, 1},
		{"legacy revisions only", func(w http.ResponseWriter, m message) { m.result(w, `{"supportedVersions":["2025-11-25"]}`) }, offered, 1},
		{"another result", func(w http.ResponseWriter, m message) { m.result(w, `{}`) }, offered, 1},
		{"a result that is none", func(w http.ResponseWriter, m message) { m.result(w, `"what"`) }, offered, 1},
		{"unknown method", refuse(200, -32601), offered, 1},
		{"unknown method, 404", refuse(404, -32601), offered, 1},
		{"400", refuse(400, -32600), offered, 1},
		{"500", refuse(500, -32603), offered, 1},
		{"plain 404", func(w http.ResponseWriter, _ message) { http.NotFound(w, nil) }, offered, 1},
		{"plain 400", func(w http.ResponseWriter, _ message) { http.Error(w, "no session", 400) }, offered, 1},
		{"405", func(w http.ResponseWriter, _ message) { w.WriteHeader(405) }, offered, 1},
		{"202", func(w http.ResponseWriter, _ message) { w.WriteHeader(202) }, offered, 1},
		{"a page", func(w http.ResponseWriter, _ message) { fmt.Fprint(w, "<p>") }, offered, 1},
		{"a stream that ends", func(w http.ResponseWriter, _ message) { events(w) }, offered, 1},
		{"a stream of nonsense", func(w http.ResponseWriter, _ message) { events(w)(`{`) }, offered, 1},
		{"a connection that ends", func(http.ResponseWriter, message) { panic(http.ErrAbortHandler) }, offered, 1},
		{"silence", func(_ http.ResponseWriter, m message) {
			select {
			case <-hanging:
			case <-m.req.Context().Done():
			}
		}, offered, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &raw{modern: true, answer: func(w http.ResponseWriter, m message) {
				switch m.Method {
				case methodDiscover:
					c.discover(w, m)
				case methodListen:
					m.fails(w, 404, -32601)
				default:
					noTools(w, m)
				}
			}}
			log := &journal{}
			cfg := Config{URL: newSite(t, server).url(), Name: "me", Version: "9", Logger: log.logger()}
			if c.name == "silence" {
				cfg.silence = shortly
			}
			u := open(t, cfg)
			for range 2 {
				ask(t, u, codec.ListTools, "null")
			}
			if got := u.speaks(); got != c.want {
				t.Errorf("%s is spoken, want %s\n%s", got, c.want, log)
			}
			if s := u.Stats(); s.Sessions != 1 || s.ConnectFailures != 0 {
				t.Errorf("stats %+v", s)
			}
			asked := server.got(methodDiscover)
			if len(asked) != c.asked {
				t.Fatalf("asked %d times, want %d", len(asked), c.asked)
			}
			const want = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"me","version":"9"},"io.modelcontextprotocol/clientCapabilities":{}}}`
			if got := string(asked[0].Params); got != want {
				t.Errorf("asked with %s, want %s", got, want)
			}
			if h := asked[0].req.Header; h.Get("Mcp-Protocol-Version") != modernVersion || h.Get("Mcp-Method") != methodDiscover {
				t.Errorf("asked with the headers %v", h)
			}
			if got := len(server.got(methodInitialize)); (got == 0) != (c.want == modernVersion) {
				t.Errorf("%d handshakes", got)
			}
		})
	}
}

func TestAModernServerThatIsSlowToAnswerAndKnowsNoHandshakeIsServed(t *testing.T) {
	refused := make(chan struct{})
	server := &raw{}
	slow := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		server.ServeHTTP(w, req)
	})
	server.modern = true
	server.initialize = func(w http.ResponseWriter, m message) { m.fails(w, 404, -32601); close(refused) }
	server.answer = func(w http.ResponseWriter, m message) {
		switch m.Method {
		case methodDiscover:
			<-refused
			m.result(w, discovered)
		case methodListen:
			m.fails(w, 404, -32601)
		default:
			noTools(w, m)
		}
	}
	u := open(t, Config{URL: newSite(t, slow).url(), silence: shortly})
	ask(t, u, codec.ListTools, "null")
	if got := u.speaks(); got != modernVersion {
		t.Errorf("%s is spoken", got)
	}
}

// switched is a site whose server can be exchanged while connections are open.
type switched struct{ atomic.Pointer[http.Handler] }

func (s *switched) to(h http.Handler) { s.Store(&h) }

func (s *switched) ServeHTTP(w http.ResponseWriter, req *http.Request) { (*s.Load()).ServeHTTP(w, req) }

// eras are servers of the SDK, and the revision spoken with each. The raw one knows nothing else.
func eras(t *testing.T) []struct {
	name, version string
	server        http.Handler
} {
	only := modern(func(w http.ResponseWriter, m message) {
		events(w)(acknowledgement(m, `"toolsListChanged":true`))
		<-m.req.Context().Done()
	}, noTools)
	only.initialize = func(w http.ResponseWriter, m message) { m.fails(w, 400, -32022) }
	onlyModern := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Mcp-Protocol-Version") != modernVersion {
			message{ID: []byte("0")}.fails(w, 400, -32022)
			return
		}
		only.ServeHTTP(w, req)
	})
	return []struct {
		name, version string
		server        http.Handler
	}{
		{"stateful", offered, served(t, newServer(nil), nil)},
		{"stateless", modernVersion, served(t, newServer(nil), &mcp.StreamableHTTPOptions{Stateless: true})},
		{"stateful without notifications", offered, withoutGET(served(t, newServer(nil), nil))},
		{"modern only", modernVersion, onlyModern},
		{"without sessions", offered, &raw{answer: noTools}},
	}
}

func withoutGET(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		h.ServeHTTP(w, req)
	})
}

func TestAServerThatReturnsInAnotherEraIsServedInIt(t *testing.T) {
	for _, from := range eras(t) {
		for _, to := range eras(t) {
			if from.version == to.version {
				continue
			}
			t.Run(from.name+" to "+to.name, func(t *testing.T) {
				site := newSite(t, from.server)
				u := open(t, Config{URL: site.url()})
				heard := hear(t, u)
				ask(t, u, codec.ListTools, "null")
				if got := u.speaks(); got != from.version {
					t.Fatalf("%s is spoken", got)
				}
				site.down()
				fails(t, u, codec.ListTools, "null")
				site.up(to.server)
				changes(t, heard)
				ask(t, u, codec.ListTools, "null")
				if got := u.speaks(); got != to.version {
					t.Fatalf("%s is spoken, want %s", got, to.version)
				}
			})
		}
	}
}

// As behind a balancer, where no connection ends.
func TestAServerThatChangesItsEraUnnoticedLosesNoCall(t *testing.T) {
	for _, from := range eras(t) {
		for _, to := range eras(t) {
			// These take requests of either era.
			if from.version == to.version || to.name == "stateless" || to.name == "without sessions" {
				continue
			}
			t.Run(from.name+" to "+to.name, func(t *testing.T) {
				server := &switched{}
				server.to(from.server)
				u := open(t, Config{URL: newSite(t, server).url()})
				heard := hear(t, u)
				ask(t, u, codec.ListTools, "null")
				server.to(to.server)
				ask(t, u, codec.ListTools, "null")
				changes(t, heard)
				if got := u.speaks(); got != to.version {
					t.Fatalf("%s is spoken, want %s", got, to.version)
				}
				if s := u.Stats(); s.Sessions != 2 || s.Repeated != 1 {
					t.Errorf("stats %+v", s)
				}
			})
		}
	}
}

func TestTheErasOfTheSDKsServers(t *testing.T) {
	for name, want := range map[string]string{"streams": offered, "JSON": offered, "stateless": modernVersion} {
		u := open(t, Config{URL: newSite(t, served(t, newServer(nil), forms[name])).url()})
		ask(t, u, codec.ListTools, "null")
		if got := u.speaks(); got != want {
			t.Errorf("%s is spoken with a server of the form %s, want %s", got, name, want)
		}
	}
	u := open(t, helper(t, "server", quiet))
	ask(t, u, codec.ListTools, "null")
	if got := u.speaks(); got != modernVersion {
		t.Errorf("%s is spoken with a command", got)
	}
}

func TestCommandsOfOldThatTheQuestionForTheEraUpsets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role     string
		starts   int // until it has been served twice
		sessions uint64
	}{
		{"server", 2, 2},   // it knows the question
		{"mute", 2, 2},     // it does not answer what it does not know
		{"brittle", 3, 2},  // it exits over it: once
		{"confused", 3, 2}, // it answers with an error without an id, which ends the connection
		{"choking", 3, 2},  // it never answers anything again: the first attempt fails
	} {
		t.Run(c.role, func(t *testing.T) {
			t.Parallel()
			log := &journal{}
			cfg := helper(t, c.role, log.logger())
			switch c.role {
			case "mute":
				cfg.silence = shortly
			case "choking":
				cfg.silence = time.Second
				cfg.ConnectTimeout = 3 * time.Second // it takes as long as that
			}
			u := open(t, cfg)
			heard := hear(t, u)
			if c.role == "choking" {
				discreet(t, fails(t, u, codec.ListTools, "null"), "cannot be reached")
				changes(t, heard)
			}
			ask(t, u, codec.ListTools, "null")
			fails(t, u, codec.CallTool, `{"name":"exit"}`)
			changes(t, heard)
			ask(t, u, codec.ListTools, "null")
			if err := u.Close(); err != nil { // all that was said is logged then
				t.Fatal(err)
			}
			if got := log.count(`stderr="hello from ` + c.role + `"`); got != c.starts {
				t.Errorf("the command was started %d times, want %d\n%s", got, c.starts, log)
			}
			if s := u.Stats(); s.Sessions != c.sessions {
				t.Errorf("stats %+v", s)
			}
		})
	}
}

func TestACommandThatDiesOverEverythingIsAskedAgain(t *testing.T) {
	log := &journal{}
	u := open(t, helper(t, "exit", log.logger()))
	until(t, "third failure", func() bool {
		u.start()
		return u.Stats().ConnectFailures >= 3
	})
	if got := strings.Count(log.String(), "level=WARN"); got != 1 {
		t.Errorf("%d warnings:\n%s", got, log)
	}
}
