package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	toolsChangedText     = `{"method":"notifications/tools/list_changed"}`
	resourcesChangedText = `{"method":"notifications/resources/list_changed"}`
)

// forms are the ways in which the SDK's server answers.
var forms = map[string]*mcp.StreamableHTTPOptions{
	"streams":   nil,
	"JSON":      {JSONResponse: true},
	"stateless": {Stateless: true},
}

func TestEachKindReachesTheServer(t *testing.T) {
	for name, options := range forms {
		t.Run(name, func(t *testing.T) {
			u := open(t, Config{URL: newSite(t, served(t, newServer(nil), options)).url()})
			if got := ask(t, u, codec.ListTools, "null"); !strings.Contains(got, `"echo"`) {
				t.Errorf("tools/list: %s", got)
			}
			if got := ask(t, u, codec.ListResources, "{}"); !strings.Contains(got, `"test:r"`) {
				t.Errorf("resources/list: %s", got)
			}
			if got := ask(t, u, codec.ReadResource, `{"uri":"test:r"}`); !strings.Contains(got, `"contents"`) {
				t.Errorf("resources/read: %s", got)
			}
			const arguments = `{"big":9007199254740993,"f":1.50,"s":"é\u0000<&>\ud83d\ude00"}`
			if got := text(t, ask(t, u, codec.CallTool, `{"name":"echo","arguments":`+arguments+`}`)); got != arguments {
				t.Errorf("the arguments came back as %s", got)
			}
			if got := fails(t, u, codec.CallTool, `{"name":"absent"}`); got.Code != -32602 || !strings.Contains(got.Message, "absent") {
				t.Errorf("an unknown tool: %v", got)
			}
		})
	}
}

func TestAResultOf3MBPasses(t *testing.T) {
	for name, options := range forms {
		t.Run(name, func(t *testing.T) {
			u := open(t, Config{URL: newSite(t, served(t, newServer(nil), options)).url()})
			if got := len(text(t, ask(t, u, codec.CallTool, `{"name":"large"}`))); got != 3_000_000 {
				t.Fatalf("%d bytes came, want 3,000,000", got)
			}
		})
	}
}

func TestRequestsAfterTheHandshakeNameTheirRevision(t *testing.T) {
	r := &recorder{Handler: served(t, newServer(nil), nil)}
	u := open(t, Config{URL: newSite(t, r).url(), Header: http.Header{"authorization": {"Bearer x"}}})
	ask(t, u, codec.ListTools, "null")
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	var methods []string
	for i, req := range r.all() {
		methods = append(methods, req.Method)
		want := "2025-11-25"
		switch i {
		case 0:
			want = "2026-07-28"
		case 1:
			want = ""
		}
		if got := req.Header.Get("Mcp-Protocol-Version"); got != want {
			t.Errorf("request %d (%s) names revision %q, want %q", i, req.Method, got, want)
		}
		if got := req.Header.Get("Authorization"); got != "Bearer x" {
			t.Errorf("request %d (%s) has the authorization %q", i, req.Method, got)
		}
	}
	if got := strings.Join(methods, " "); got != "POST POST POST GET POST DELETE" { // the question for the era, initialize, initialized, the stream, tools/list
		t.Errorf("the requests are %s", got)
	}
}

func TestNotificationsBetweenRequestsAreHeard(t *testing.T) {
	server := newServer(nil)
	u := open(t, Config{URL: newSite(t, served(t, server, nil)).url()})
	heard := hear(t, u)
	ask(t, u, codec.ListTools, "null")
	for range 3 {
		server.RemoveTools("echo")
		if got := soon(t, heard); got != toolsChangedText && got != `{"method":"notifications/tools/list_changed","params":{}}` {
			t.Fatalf("heard %s", got)
		}
		server.AddTool(&mcp.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
		soon(t, heard)
	}
	if !u.Stats().Standalone {
		t.Error("the standalone stream is not open")
	}
}

func TestAServerWithoutAStandaloneStreamIsAnsweredFromAllTheSame(t *testing.T) {
	for name, refuse := range map[string]func(http.ResponseWriter){
		"405": func(w http.ResponseWriter) { http.Error(w, "no stream here", http.StatusMethodNotAllowed) },
		"404": func(w http.ResponseWriter) { http.NotFound(w, nil) },
		"400": func(w http.ResponseWriter) { http.Error(w, "what?", http.StatusBadRequest) },
		"501": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotImplemented) },
		"200 with a page": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<p>hello"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			real := served(t, newServer(nil), nil)
			u := open(t, Config{URL: newSite(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if req.Method == http.MethodGet {
					refuse(w)
					return
				}
				real.ServeHTTP(w, req)
			})).url()})
			heard := hear(t, u)
			// What the server says during a request comes on that request's stream.
			if got := text(t, ask(t, u, codec.CallTool, `{"name":"progress","_meta":{"progressToken":"p"}}`)); got != "done" {
				t.Fatalf("the tool said %q", got)
			}
			if got := soon(t, heard); !strings.Contains(got, `"progressToken":"p"`) {
				t.Fatalf("heard %s", got)
			}
			ask(t, u, codec.ListTools, "null")
			if s := u.Stats(); s.Standalone || s.Sessions != 1 || s.Lost != 0 {
				t.Fatalf("stats %+v", s)
			}
		})
	}
}

func TestProgressIsHeardInOrderAndBeforeTheAnswer(t *testing.T) {
	u := open(t, Config{URL: newSite(t, served(t, newServer(nil), nil)).url()})
	heard := hear(t, u)
	for _, token := range []string{`"t-1"`, `9007199254740991`} {
		ask(t, u, codec.CallTool, `{"name":"progress","_meta":{"progressToken":`+token+`}}`)
		for i := range 50 {
			select {
			case got := <-heard:
				var n struct {
					Method string
					Params struct {
						ProgressToken json.RawMessage
						Progress      float64
					}
				}
				if err := json.Unmarshal([]byte(got), &n); err != nil || n.Method != "notifications/progress" ||
					string(n.Params.ProgressToken) != token || n.Params.Progress != float64(i) {
					t.Fatalf("notification %d is %s", i, got)
				}
			default:
				t.Fatalf("the answer came before progress %d", i)
			}
		}
	}
}

func TestACancelledAskReachesTheTool(t *testing.T) {
	for name, options := range map[string]*mcp.StreamableHTTPOptions{"streams": nil, "JSON": {JSONResponse: true}} {
		t.Run(name, func(t *testing.T) {
			box := newToolbox()
			u := open(t, Config{URL: newSite(t, served(t, newServer(box), options)).url()})
			ctx, cancel := context.WithCancelCause(context.Background())
			reason := errors.New("nobody waits")
			failed := make(chan error, 1)
			go func() {
				_, err := u.Answer(ctx, codec.CallTool, []byte(`{"name":"wait","arguments":{"n":1}}`))
				failed <- err
			}()
			soon(t, box.started)
			cancel(reason)
			if got := soon(t, box.cancelled); got != `{"n":1}` {
				t.Fatalf("the tool call %s was cancelled", got)
			}
			if err := soon(t, failed); !errors.Is(err, reason) {
				t.Fatalf("the ask failed with %v", err)
			}
			ask(t, u, codec.ListTools, "null") // the session is none the worse for it
			if s := u.Stats(); s.Cancelled != 1 || s.Lost != 0 {
				t.Fatalf("stats %+v", s)
			}
		})
	}
}

func TestOneCancelledAskLeavesOthersAlone(t *testing.T) {
	box := newToolbox()
	u := open(t, Config{URL: newSite(t, served(t, newServer(box), nil)).url()})
	ctx, cancel := context.WithCancel(context.Background())
	go u.Answer(ctx, codec.CallTool, []byte(`{"name":"wait","arguments":{"n":1}}`)) //nolint:errcheck // it is cancelled
	soon(t, box.started)
	other := make(chan string, 1)
	go func() { other <- text(t, ask(t, u, codec.CallTool, `{"name":"wait","arguments":{"n":2}}`)) }()
	soon(t, box.started)
	cancel()
	if got := soon(t, box.cancelled); got != `{"n":1}` {
		t.Fatalf("cancelled %s", got)
	}
	close(box.release)
	if got := soon(t, other); got != "released" {
		t.Fatalf("the other call said %q", got)
	}
}

func TestAPingOfTheServerIsAnswered(t *testing.T) {
	u := open(t, Config{URL: newSite(t, served(t, newServer(nil), nil)).url()})
	if got := text(t, ask(t, u, codec.CallTool, `{"name":"ask-back"}`)); got != "ping ok" {
		t.Fatalf("the tool said %q", got)
	}
}
