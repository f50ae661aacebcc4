package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// cancelling is a stateless server of the SDK that hears when a request's stream ends.
var cancelling = &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}

func TestAStatelessRequestSaysWhatItIsAndNothingElseIsSent(t *testing.T) {
	r := &recorder{Handler: served(t, newServer(nil), forms["stateless"])}
	u := open(t, Config{URL: newSite(t, r).url(), Header: http.Header{"authorization": {"Bearer x"}}})
	ask(t, u, codec.ListTools, "null")
	ask(t, u, codec.CallTool, `{"name":"echo","arguments":{}}`)
	ask(t, u, codec.ReadResource, `{"uri":"test:r"}`)
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"server/discover ", "subscriptions/listen ", "tools/list ", "tools/call echo", "resources/read test:r"}
	for i, req := range r.all() {
		if got := req.Header.Get("Mcp-Method") + " " + req.Header.Get("Mcp-Name"); i >= len(want) || got != want[i] || req.Method != http.MethodPost {
			t.Errorf("request %d is %s %s", i, req.Method, got)
		}
		if got := req.Header.Get("Mcp-Protocol-Version"); got != modernVersion {
			t.Errorf("request %d names revision %q", i, got)
		}
		if got := req.Header.Get("Authorization"); got != "Bearer x" {
			t.Errorf("request %d has the authorization %q", i, got)
		}
		if got := req.Header.Get("Mcp-Session-Id"); got != "" {
			t.Errorf("request %d names a session", i)
		}
	}
	if got := len(r.all()); got != len(want) {
		t.Errorf("%d requests, want %d", got, len(want))
	}
}

// upstreams are connections to a stateless server over each transport.
func upstreams(t *testing.T, server *mcp.Server) map[string]*Upstream {
	return map[string]*Upstream{
		"HTTP":    open(t, Config{URL: newSite(t, served(t, server, cancelling)).url()}),
		"command": open(t, helper(t, "server", quiet)),
	}
}

func TestAStatelessServersNotificationsBetweenRequestsAreHeard(t *testing.T) {
	for name, u := range upstreams(t, newServer(nil)) {
		t.Run(name, func(t *testing.T) {
			heard := hear(t, u)
			ask(t, u, codec.CallTool, `{"name":"change"}`)
			if got := soon(t, heard); got != `{"method":"notifications/tools/list_changed","params":{}}` {
				t.Errorf("heard %s", got)
			}
			if s := u.Stats(); !s.Standalone || u.speaks() != modernVersion {
				t.Errorf("stats %+v, speaks %s", s, u.speaks())
			}
		})
	}
}

func TestAStatelessServersProgressIsHeardInOrderAndBeforeTheAnswer(t *testing.T) {
	for name, u := range upstreams(t, newServer(nil)) {
		t.Run(name, func(t *testing.T) {
			heard := hear(t, u)
			for _, token := range []string{`"t-1"`, `9007199254740991`} {
				ask(t, u, codec.CallTool, `{"name":"progress","_meta":{"progressToken":`+token+`}}`)
				if len(heard) != 50 {
					t.Fatalf("%d notifications before the answer, want 50", len(heard))
				}
				for i := range 50 {
					var n struct {
						Params struct {
							ProgressToken json.RawMessage
							Progress      int
						}
					}
					got := <-heard
					if err := json.Unmarshal([]byte(got), &n); err != nil || string(n.Params.ProgressToken) != token || n.Params.Progress != i {
						t.Fatalf("notification %d is %s", i, got)
					}
				}
			}
		})
	}
}

func TestACancelledAskReachesTheToolOfAStatelessServer(t *testing.T) {
	box := newToolbox()
	r := &recorder{Handler: served(t, newServer(box), cancelling)}
	u := open(t, Config{URL: newSite(t, r).url()})
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("nobody waits")
	failed := make(chan error, 1)
	go func() {
		_, err := u.Answer(ctx, codec.CallTool, []byte(`{"name":"wait","arguments":{"n":1}}`))
		failed <- err
	}()
	soon(t, box.started)
	cancel(reason)
	if got := soon(t, box.cancelled); got != `{"n":1}` {
		t.Errorf("the tool call %s was cancelled", got)
	}
	if err := soon(t, failed); !errors.Is(err, reason) {
		t.Errorf("the ask failed with %v", err)
	}
	ask(t, u, codec.ListTools, "null")
	if s := u.Stats(); s.Cancelled != 1 || s.Lost != 0 {
		t.Errorf("stats %+v", s)
	}
	for _, req := range r.all() {
		if got := req.Header.Get("Mcp-Method"); strings.HasPrefix(got, "notifications/") {
			t.Errorf("the server was sent %s", got)
		}
	}
}

func TestACancelledAskReachesTheToolOfAStatelessCommand(t *testing.T) {
	log := &journal{}
	u := open(t, helper(t, "server", log.logger()))
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := u.Answer(ctx, codec.CallTool, []byte(`{"name":"linger"}`))
		failed <- err
	}()
	until(t, "call", func() bool { return log.count("lingering") > 0 })
	cancel()
	if err := soon(t, failed); !errors.Is(err, context.Canceled) {
		t.Errorf("the ask failed with %v", err)
	}
	until(t, "cancellation", func() bool { return log.count("lingered enough") > 0 })
	if u.speaks() != modernVersion {
		t.Errorf("speaks %s", u.speaks())
	}
}

func TestResultsAndErrorsOfAStatelessServerPassByteForByte(t *testing.T) {
	results := map[string]string{
		"complete":       `{"resultType":"complete","content":[{"type":"new","x":1.0e+2}],"structuredContent":[1],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"},"k":1.0}}`,
		"input_required": `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"n":1.00}}},"requestState":"é\u0001"}`,
		"unknown":        `{"resultType":"later","x":1.0}`,
	}
	errorsOf := map[string]struct {
		status int
		object string
		want   codec.Error
	}{
		"capability": {400, `{"code":-32021,"message":"needs it","data":{"requiredCapabilities":{"sampling":{}}}}`, codec.Error{Code: -32021, Message: "needs it", Data: []byte(`{"requiredCapabilities":{"sampling":{}}}`)}},
		"header":     {400, `{"code":-32020,"message":"no"}`, codec.Error{Code: -32020, Message: "no"}},
		"method":     {404, `{"code":-32601,"message":"no"}`, codec.Error{Code: -32601, Message: "no"}},
		"version":    {200, `{"code":-32022,"message":"no","data":{"supported":[]}}`, codec.Error{Code: -32022, Message: "no", Data: []byte(`{"supported":[]}`)}},
		"params":     {200, `{"code":-32602,"message":"no","data":1.0}`, codec.Error{Code: -32602, Message: "no", Data: []byte(`1.0`)}},
	}
	server := modern(nil, func(w http.ResponseWriter, m message) {
		name := m.req.Header.Get("Mcp-Name")
		if e, ok := errorsOf[name]; ok {
			m.json(w, e.status, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":`+e.object+`}`)
			return
		}
		m.result(w, results[name])
	})
	log := &journal{}
	u := open(t, Config{URL: newSite(t, server).url(), Logger: log.logger()})
	for name, want := range results {
		if got := ask(t, u, codec.CallTool, `{"name":"`+name+`"}`); got != want {
			t.Errorf("the result came as\n%s, want\n%s", got, want)
		}
	}
	if log.count("level=WARN") != 0 {
		t.Errorf("logged:\n%s", log)
	}
	for name, e := range errorsOf {
		got := fails(t, u, codec.CallTool, `{"name":"`+name+`"}`)
		if got.Code != e.want.Code || got.Message != e.want.Message || string(got.Data) != string(e.want.Data) {
			t.Errorf("%s is relayed as %s, want %s", name, got.Append(nil), e.want.Append(nil))
		}
	}
	if s := u.Stats(); s.Sessions != 1 || s.Lost != 0 || s.Repeated != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestAStatelessStreamIsNeverResumed(t *testing.T) {
	r := &recorder{}
	r.Handler = modern(nil, func(w http.ResponseWriter, m message) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("id: 41\nretry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n"))
	})
	u := open(t, Config{URL: newSite(t, r).url()})
	heard := hear(t, u)
	discreet(t, fails(t, u, codec.CallTool, `{"name":"x"}`), "was lost before it answered")
	if got := soon(t, heard); got != `{"method":"notifications/x"}` {
		t.Errorf("heard %s", got)
	}
	for _, req := range r.all() {
		if req.Method != http.MethodPost {
			t.Errorf("the server got a %s", req.Method)
		}
	}
}

func TestAStatelessServersRequestsAreDeclined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newMemory()
		server.modern = true
		s := openShared(t, server, Config{})
		done := newTenant(t, s, "c").call(t.Context(), `{}`)
		asked := server.next(t, "tools/call")
		server.demand(7, "sampling/createMessage")
		server.demand(8, "ping")
		for range 2 {
			got := soon(t, server.replies)
			switch {
			case got.ID.Raw() == int64(8) && string(got.Result) == "{}":
			case got.ID.Raw() == int64(7) && got.Error != nil && strings.Contains(got.Error.Error(), "does not serve sampling/createMessage"):
			default:
				t.Errorf("answered with %+v", got)
			}
		}
		server.answer(asked, `{}`)
		<-done
	})
}

func TestContainersOfAStatelessServerDoNotHearEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newMemory()
		server.modern = true
		s := openShared(t, server, Config{})
		all := tenants(t, s, 2)
		ctx, cancel := context.WithCancel(t.Context())
		done := all[0].call(ctx, `{"name":"t","_meta":{"progressToken":"a","io.modelcontextprotocol/logLevel":"debug"}}`)
		asked := server.next(t, "tools/call")
		server.notify(methodMessage, `{"level":"debug","data":"secret"}`)
		server.progress("1", `,"progress":1`)
		server.notify("notifications/tools/list_changed", `{"_meta":{"io.modelcontextprotocol/subscriptionId":1,"k":1.0}}`)
		const changed = `{"method":"notifications/tools/list_changed","params":{"_meta":{"k":1.0}}}`
		all[0].only(t, `{"method":"notifications/progress","params":{"progressToken":"a","progress":1}}`, changed)
		all[1].only(t, changed)
		if got := s.Stats(); got.Strays != 1 {
			t.Errorf("stats %+v", got)
		}
		cancel()
		<-done
		if got := server.next(t, methodCancelled); !strings.Contains(string(got.Params), `"requestId":`) || asked.ID.Raw() == nil {
			t.Errorf("cancelled with %s", got.Params)
		}
	})
}
