package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const annotatedSchema = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}`

// wanting is the SDK's server with a tool that wants arguments in headers, and answers with one.
func wanting(name string) *mcp.Server {
	s := newServer(nil)
	s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(annotatedSchema)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}}}, nil
	})
	return s
}

// said is what the requests of a recorder are about, one word each.
func (r *recorder) said() string {
	var all []string
	for _, req := range r.all() {
		switch method := req.Header.Get("Mcp-Method"); method {
		case methodDiscover, methodListen:
		default:
			all = append(all, strings.TrimPrefix(method, "tools/")+"("+req.Header.Get("Mcp-Param-Region")+")")
		}
	}
	return strings.Join(all, " ")
}

func TestArgumentsTravelInHeadersToAServerThatWantsThem(t *testing.T) {
	for _, name := range []string{"wanting", "größer"} { // which the SDK's server does not know encoded
		for _, region := range []string{`eu`, ` größer`, ``, `=?base64?x?=`} {
			t.Run(name+" "+region, func(t *testing.T) {
				r := &recorder{Handler: served(t, wanting(name), forms["stateless"])}
				u := open(t, Config{URL: newSite(t, r).url()})
				quoted, err := json.Marshal(region)
				if err != nil {
					t.Fatal(err)
				}
				params := fmt.Sprintf(`{"name":%q,"arguments":{"region":%s,"n":42.0}}`, name, quoted)
				want := fmt.Sprintf(`{"region":%s,"n":42.0}`, quoted)
				ask(t, u, codec.ListTools, "null")
				for range 2 {
					if got := text(t, ask(t, u, codec.CallTool, params)); got != want {
						t.Errorf("answered %s, want %s", got, want)
					}
				}
				if s := u.Stats(); s.Repeated != 0 || s.Sessions != 1 {
					t.Errorf("stats %+v", s)
				}
				for _, req := range r.all() {
					if got, is := req.Header.Get("Mcp-Param-N"), req.Header.Get("Mcp-Method") == "tools/call"; is != (got == "42") {
						t.Errorf("%s has the header N %q", req.Header.Get("Mcp-Method"), got)
					}
				}
			})
		}
	}
}

func TestACallRefusedForItsHeadersIsSentAgainOnceTheListIsRead(t *testing.T) {
	r := &recorder{Handler: served(t, wanting("wanting"), forms["stateless"])}
	u := open(t, Config{URL: newSite(t, r).url()})
	for range 2 {
		if got := text(t, ask(t, u, codec.CallTool, `{"name":"wanting","arguments":{"region":"eu"}}`)); got != `{"region":"eu"}` {
			t.Errorf("answered %s", got)
		}
	}
	ask(t, u, codec.CallTool, `{"name":"echo","arguments":{}}`)
	if got, want := r.said(), "call() list() call(eu) call(eu) call()"; got != want {
		t.Errorf("the server got %s, want %s", got, want)
	}
	if s := u.Stats(); s.Repeated != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestAListThatChangedIsForgotten(t *testing.T) {
	s := wanting("wanting")
	r := &recorder{Handler: served(t, s, forms["stateless"])}
	u := open(t, Config{URL: newSite(t, r).url()})
	heard := hear(t, u)
	ask(t, u, codec.ListTools, "null")
	s.AddTool(&mcp.Tool{Name: "other", InputSchema: json.RawMessage(annotatedSchema)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "other"}}}, nil
	})
	if got := soon(t, heard); !strings.Contains(got, methodToolsChanged) {
		t.Fatalf("heard %s", got)
	}
	if got := text(t, ask(t, u, codec.CallTool, `{"name":"other","arguments":{"region":"eu"}}`)); got != "other" {
		t.Errorf("answered %s", got)
	}
	if got, want := r.said(), "list() call() list() call(eu)"; got != want {
		t.Errorf("the server got %s, want %s", got, want)
	}
}

// choosy is a stateless server with pages of tools, which takes a call with the header Region it wants.
type choosy struct {
	pages []string                   // results, by cursor
	wants func(region []string) bool // of a call
	form  func(w http.ResponseWriter, m message)

	mu    sync.Mutex
	lists int
	calls []string
}

func (c *choosy) answer(w http.ResponseWriter, m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.Method == "tools/list" {
		c.lists++
		var p struct {
			Cursor int `json:"cursor,string"`
		}
		if err := json.Unmarshal(m.Params, &p); err != nil || p.Cursor >= len(c.pages) {
			m.fails(w, 200, -32602)
			return
		}
		m.result(w, c.pages[p.Cursor])
		return
	}
	region := m.req.Header["Mcp-Param-Region"]
	c.calls = append(c.calls, strings.Join(region, "+"))
	if c.wants(region) {
		m.result(w, `{"content":[{"type":"text","text":"taken"}]}`)
		return
	}
	c.form(w, m)
}

func (c *choosy) got() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d lists, calls %q", c.lists, slices.Sorted(slices.Values(c.calls)))
}

// inBad400 and in200 are the forms that a refusal comes in.
func inBad400(w http.ResponseWriter, m message) { m.fails(w, 400, codeHeaderMismatch) }
func in200(w http.ResponseWriter, m message)    { m.fails(w, 200, codeHeaderMismatch) }
func onAStream(w http.ResponseWriter, m message) {
	events(w)(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32020,"message":"no"}}`)
}

func pageOf(next int, tools ...string) string {
	more := ""
	if next > 0 {
		more = fmt.Sprintf(`,"nextCursor":"%d"`, next)
	}
	return `{"tools":[` + strings.Join(tools, ",") + `]` + more + `,"resultType":"complete","ttlMs":0,"cacheScope":"private"}`
}

const annotatedTool = `{"name":"t","inputSchema":` + annotatedSchema + `}`

func TestTheListIsReadPageByPageAndNoLongerThanItMakesSense(t *testing.T) {
	eu := func(region []string) bool { return len(region) == 1 && region[0] == "eu" }
	never := func([]string) bool { return false }
	for name, c := range map[string]struct {
		choosy *choosy
		ok     bool
		want   string
	}{
		"on the last page":     {&choosy{pages: []string{pageOf(1), pageOf(2, `{"name":"u"}`), pageOf(0, annotatedTool)}, wants: eu, form: inBad400}, true, `3 lists, calls ["" "eu"]`},
		"an error in a 200":    {&choosy{pages: []string{pageOf(0, annotatedTool)}, wants: eu, form: in200}, true, `1 lists, calls ["" "eu"]`},
		"an error on a stream": {&choosy{pages: []string{pageOf(0, annotatedTool)}, wants: eu, form: onAStream}, true, `1 lists, calls ["" "eu"]`},
		"never content":        {&choosy{pages: []string{pageOf(0, annotatedTool)}, wants: never, form: inBad400}, false, `1 lists, calls ["" "eu"]`},
		"nothing new":          {&choosy{pages: []string{pageOf(0, `{"name":"t"}`)}, wants: never, form: inBad400}, false, `1 lists, calls [""]`},
		"not valid":            {&choosy{pages: []string{pageOf(0, `{"name":"t","inputSchema":{"x-mcp-header":"Region"}}`)}, wants: never, form: inBad400}, false, `1 lists, calls [""]`},
		"no list":              {&choosy{wants: never, form: inBad400}, false, `1 lists, calls [""]`},
		"pages without end":    {&choosy{pages: []string{pageOf(1), pageOf(1)}, wants: never, form: inBad400}, false, fmt.Sprintf(`%d lists, calls [""]`, maxPages)},
	} {
		t.Run(name, func(t *testing.T) {
			server := c.choosy
			u := open(t, Config{URL: newSite(t, modern(nil, server.answer)).url()})
			const params = `{"name":"t","arguments":{"region":"eu"}}`
			if c.ok {
				ask(t, u, codec.CallTool, params)
			} else if got := fails(t, u, codec.CallTool, params); got.Code != codeHeaderMismatch || got.Message != "no" {
				t.Errorf("answered %s", got.Append(nil))
			}
			if got := server.got(); got != c.want {
				t.Errorf("the server got %s, want %s", got, c.want)
			}
			if s := u.Stats(); s.Sessions != 1 || s.Lost != 0 {
				t.Errorf("stats %+v", s)
			}
		})
	}
}

func TestCallsThatAreRefusedTogetherHaveTheListReadOnce(t *testing.T) {
	const calls = 20
	var arrived atomic.Int32
	all := make(chan struct{})
	server := &choosy{pages: []string{pageOf(0, annotatedTool)}, wants: func(region []string) bool { return len(region) == 1 }, form: inBad400}
	u := open(t, Config{URL: newSite(t, modern(nil, func(w http.ResponseWriter, m message) {
		if m.Method == "tools/call" && m.req.Header.Get("Mcp-Param-Region") == "" {
			if arrived.Add(1) == calls {
				close(all)
			}
			<-all
		}
		server.answer(w, m)
	})).url()})
	failed := make(chan error, calls)
	for range calls {
		go func() {
			_, err := u.Answer(t.Context(), codec.CallTool, []byte(`{"name":"t","arguments":{"region":"eu"}}`))
			failed <- err
		}()
	}
	for range calls {
		if err := soon(t, failed); err != nil {
			t.Error(err)
		}
	}
	if got, want := server.got(), fmt.Sprintf(`1 lists, calls %q`, slices.Concat(make([]string, calls), slices.Repeat([]string{"eu"}, calls))); got != want {
		t.Errorf("the server got %s, want %s", got, want)
	}
}

func TestACallerThatGoesWhileTheListIsReadIsGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := &choosy{wants: func([]string) bool { return false }, form: inBad400}
	u := open(t, Config{URL: newSite(t, modern(nil, func(w http.ResponseWriter, m message) {
		if m.Method == "tools/list" {
			cancel()
			<-m.req.Context().Done()
			return
		}
		server.answer(w, m)
	})).url()})
	if _, err := u.Answer(ctx, codec.CallTool, []byte(`{"name":"t"}`)); err == nil || ctx.Err() == nil {
		t.Errorf("answered %v", err)
	}
	if got, want := server.got(), `0 lists, calls [""]`; got != want {
		t.Errorf("the server got %s, want %s", got, want)
	}
}

func TestAServerWithSessionsGetsNoSuchHeaders(t *testing.T) {
	server := &raw{answer: func(w http.ResponseWriter, m message) {
		if m.Method == "tools/list" {
			m.result(w, pageOf(0, annotatedTool))
			return
		}
		m.fails(w, 200, codeHeaderMismatch)
	}}
	u := open(t, Config{URL: newSite(t, server).url()})
	ask(t, u, codec.ListTools, "null")
	if got := fails(t, u, codec.CallTool, `{"name":"t","arguments":{"region":"eu"}}`); got.Code != codeHeaderMismatch {
		t.Errorf("answered %s", got.Append(nil))
	}
	if calls := server.got("tools/call"); len(calls) != 1 || calls[0].req.Header.Get("Mcp-Param-Region") != "" || len(server.got("tools/list")) != 1 {
		t.Errorf("the server got %d calls", len(calls))
	}
}
