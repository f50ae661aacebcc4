package upstream

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

func acknowledgement(m message, honoured string) string {
	return `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` +
		string(m.ID) + `},"notifications":{` + honoured + `}}}`
}

func ending(m message) string {
	return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":` + string(m.ID) + `}}}`
}

func TestTheSubscriptionIsForBothListsAndKeptOpen(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(send func(string), m message){
		"the server ends it":    func(send func(string), m message) { send(ending(m)) },
		"its stream ends":       func(func(string), message) {},
		"its connection breaks": func(func(string), message) { panic(http.ErrAbortHandler) },
		"it ends with an error": func(send func(string), m message) {
			send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32603,"message":"down"}}`)
		},
		"it was another one's": func(send func(string), m message) { send(`{"jsonrpc":"2.0","id":7777,"result":{}}`) },
	} {
		t.Run(name, func(t *testing.T) {
			var opened atomic.Int32
			goOn := make(chan struct{})
			server := modern(func(w http.ResponseWriter, m message) {
				n := opened.Add(1)
				send := events(w)
				send(acknowledgement(m, `"toolsListChanged":true,"resourcesListChanged":true`))
				send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"n":%d,"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, n, m.ID))
				if n < 3 {
					<-goOn
					end(send, m)
					return
				}
				<-m.req.Context().Done()
			}, noTools)
			u := open(t, Config{URL: newSite(t, server).url()})
			heard := hear(t, u)
			ask(t, u, codec.ListTools, "null")
			for n := range 3 {
				if n > 0 {
					give(t, goOn, struct{}{})
					for range 2 {
						if got := soon(t, heard); got != toolsChangedText && got != resourcesChangedText && got != fmt.Sprintf(`{"method":"notifications/tools/list_changed","params":{"n":%d}}`, n+1) {
							t.Fatalf("heard %s", got)
						}
					}
				}
				got := soon(t, heard)
				if n == 0 && got != `{"method":"notifications/tools/list_changed","params":{"n":1}}` {
					t.Fatalf("heard %s", got)
				}
			}
			if s := u.Stats(); s.Sessions != 1 || s.Lost != 0 || !s.Standalone || s.Notifications != 7 {
				t.Errorf("stats %+v", s)
			}
			const want = `{"notifications":{"toolsListChanged":true,"resourcesListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"diverge-gateway","version":"dev"},"io.modelcontextprotocol/clientCapabilities":{}}}`
			if got := string(server.got(methodListen)[0].Params); got != want {
				t.Errorf("asked for %s", got)
			}
		})
	}
}

func TestASubscriptionThatIsRefusedOrOfNoUseIsNotAskedForAgain(t *testing.T) {
	refuse := func(status, code int) func(w http.ResponseWriter, m message) {
		return func(w http.ResponseWriter, m message) { m.fails(w, status, code) }
	}
	for name, listen := range map[string]func(w http.ResponseWriter, m message){
		"unknown":   refuse(404, -32601),
		"invalid":   refuse(200, -32602),
		"plain 404": func(w http.ResponseWriter, _ message) { http.NotFound(w, nil) },
		"401":       func(w http.ResponseWriter, _ message) { w.WriteHeader(401) },
		"nothing to do": func(w http.ResponseWriter, m message) {
			send := events(w)
			send(acknowledgement(m, ``))
			send(ending(m))
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := modern(listen, noTools)
			u := open(t, Config{URL: newSite(t, server).url()})
			for range 2 {
				ask(t, u, codec.ListTools, "null")
			}
			if s := u.Stats(); s.Sessions != 1 || s.Lost != 0 || s.Standalone {
				t.Errorf("stats %+v", s)
			}
			if err := u.Close(); err != nil {
				t.Fatal(err)
			}
			if got := len(server.got(methodListen)); got != 1 {
				t.Errorf("asked for %d times", got)
			}
		})
	}
}

func TestASubscriptionThatIsRefusedForNowIsAskedForAgain(t *testing.T) {
	t.Parallel()
	refusals := []func(w http.ResponseWriter, m message){
		func(w http.ResponseWriter, _ message) { w.WriteHeader(503) },
		func(w http.ResponseWriter, _ message) { w.WriteHeader(429) },
		func(w http.ResponseWriter, m message) { m.fails(w, 200, -32603) },
		func(w http.ResponseWriter, m message) { m.result(w, `{}`) },
		func(w http.ResponseWriter, m message) { events(w) },
	}
	var asked atomic.Int32
	server := modern(func(w http.ResponseWriter, m message) {
		if n := int(asked.Add(1)); n <= len(refusals) {
			refusals[n-1](w, m)
			return
		}
		events(w)(acknowledgement(m, `"resourcesListChanged":true`))
		<-m.req.Context().Done()
	}, noTools)
	u := open(t, Config{URL: newSite(t, server).url()})
	heard := hear(t, u)
	ask(t, u, codec.ListTools, "null")
	changes(t, heard)
	if s := u.Stats(); s.Sessions != 1 || s.Lost != 0 || !s.Standalone {
		t.Errorf("stats %+v", s)
	}
}

func TestAnAskDoesNotWaitLongForASubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newMemory()
		server.modern, server.mute = true, true
		s := openShared(t, server, Config{})
		start := time.Now()
		done := newTenant(t, s, "c").call(t.Context(), `{}`)
		server.answer(server.next(t, "tools/call"), `{}`)
		<-done
		if got := time.Since(start); got != standaloneTimeout {
			t.Errorf("it waited %v", got)
		}
	})
}

func TestAServerOnStandardInputMayTakeTheSubscriptionBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newMemory()
		server.modern = true
		s := openShared(t, server, Config{})
		c := newTenant(t, s, "c")
		done := c.call(t.Context(), `{}`)
		asked := server.next(t, "tools/call")
		server.notify(methodCancelled, `{"requestId":99}`)
		server.notify(methodCancelled, fmt.Sprintf(`{"requestId":%d}`, server.subscription.Load()))
		<-time.After(time.Second)
		c.only(t, toolsChangedText, resourcesChangedText)
		server.answer(asked, `{}`)
		<-done
		if got := s.Stats(); got.Sessions != 1 || !got.Standalone {
			t.Errorf("stats %+v", got)
		}
	})
}
