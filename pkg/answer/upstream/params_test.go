package upstream

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

const (
	ourVersion = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	ourInfo    = `"io.modelcontextprotocol/clientInfo":{"name":"diverge-gateway","version":"dev"}`
	ourCapable = `"io.modelcontextprotocol/clientCapabilities":{}`
	ours       = ourVersion + `,` + ourInfo + `,` + ourCapable
)

func TestWhatDeclaresAStatelessRequestIsForStatelessServersAlone(t *testing.T) {
	for _, c := range []struct{ params, legacy, modern string }{
		{`null`, ``, `{"_meta":{` + ours + `}}`},
		{`{}`, `{}`, `{"_meta":{` + ours + `}}`},
		{`{"a":1.0}`, `{"a":1.0}`, `{"a":1.0,"_meta":{` + ours + `}}`},
		{`{"_meta":{}}`, `{"_meta":{}}`, `{"_meta":{` + ours + `}}`},
		{`{"_meta":null,"a":1}`, `{"_meta":null,"a":1}`, `{"_meta":{` + ours + `},"a":1}`},
		{`{"_meta":{"traceparent":"00-x"}}`, `{"_meta":{"traceparent":"00-x"}}`, `{"_meta":{"traceparent":"00-x",` + ours + `}}`},
		{
			`{"a":[1.0], "_meta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28","k":1.0,"io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"io.modelcontextprotocol/logLevel":"debug"},"dup":1,"dup":2}`,
			`{"a":[1.0], "_meta":{"k":1.0},"dup":1,"dup":2}`,
			`{"a":[1.0], "_meta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28","k":1.0,"io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"io.modelcontextprotocol/logLevel":"debug",` + ourInfo + `},"dup":1,"dup":2}`,
		},
		{
			`{"name":"t","_meta":{` + ourVersion + `,"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},` + ourCapable + `}}`,
			`{"name":"t"}`,
			`{"name":"t","_meta":{` + ourVersion + `,"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},` + ourCapable + `}}`,
		},
		{`{"arguments":{"_meta":{` + ours + `}}}`, `{"arguments":{"_meta":{` + ours + `}}}`, `{"arguments":{"_meta":{` + ours + `}},"_meta":{` + ours + `}}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			for _, isModern := range []bool{false, true} {
				server := newMemory()
				server.modern = isModern
				u := open(t, Config{URL: "http://127.0.0.1:1/mcp"})
				u.dialer = server
				done := make(chan error, 1)
				go func() {
					_, err := u.Answer(t.Context(), codec.CallTool, []byte(c.params))
					done <- err
				}()
				asked := server.next(t, "tools/call")
				server.answer(asked, `{}`)
				if err := <-done; err != nil {
					t.Error(err)
				}
				want := c.legacy
				if isModern {
					want = c.modern
				}
				if got := string(asked.Params); got != want {
					t.Errorf("%s\nbecame %s\n  want %s", c.params, got, want)
				}
			}
		})
	}
}

func TestMetaThatCannotBeReadIsTheAskersMistake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newMemory()
		server.modern = true
		c := newTenant(t, openShared(t, server, Config{}), "c")
		for _, params := range []string{`{"_meta":[1]}`, `{"_meta":"x"}`, `{"_meta":{},"_meta":{}}`, `{"_meta":{` + ourVersion + `,` + ourVersion + `}}`} {
			var object *codec.Error
			if got := <-c.call(t.Context(), params); !errors.As(got.err, &object) || object.Code != codeInvalidParams {
				t.Errorf("%s: %+v", params, got)
			}
		}
		if len(server.messages) != 0 {
			t.Error("the server was asked all the same")
		}
	})
}

func TestTheFirstCallsWithATokenWaitForThePathALittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newMemory()
		s := openShared(t, server, Config{})
		const with, without = `{"_meta":{"progressToken":1}}`, `{}`
		start := time.Now()
		call := func(c *seat, ctx context.Context, params string, want time.Duration) {
			t.Helper()
			done := (&tenant{seat: c}).call(ctx, params)
			asked := server.next(t, "tools/call")
			if got := time.Since(start); got != want {
				t.Errorf("the call was made after %v, want %v", got, want)
			}
			server.answer(asked, `{}`)
			<-done
		}
		late := s.For("late").(*seat)
		call(late, t.Context(), without, 0)
		opened := time.AfterFunc(300*time.Millisecond, func() { listen(t, late, func([]byte) error { return nil }) })
		defer opened.Stop()
		call(late, t.Context(), with, 300*time.Millisecond)
		call(late, t.Context(), with, 300*time.Millisecond)

		never := &tenant{seat: s.For("never").(*seat)}
		start = time.Now()
		first := never.call(t.Context(), with)
		<-time.After(pathTimeout / 2)
		second := never.call(t.Context(), with)
		for range 2 { // they share the wait
			server.answer(server.next(t, "tools/call"), `{}`)
		}
		<-first
		<-second
		if got := time.Since(start); got != pathTimeout {
			t.Errorf("the calls took %v, want %v", got, pathTimeout)
		}
		call(never.seat, t.Context(), with, pathTimeout)

		gone, cancel := context.WithCancel(t.Context())
		cancel()
		got := <-(&tenant{seat: s.For("gone").(*seat)}).call(gone, with)
		if !errors.Is(got.err, context.Canceled) || time.Since(start) != pathTimeout {
			t.Errorf("a cancelled call ended with %v after %v", got.err, time.Since(start))
		}
	})
}

func TestProgressOfTheVeryFirstCallIsHeardThroughARealGateway(t *testing.T) {
	for name, options := range forms {
		if name == "JSON" {
			continue // it has no streams, and so no progress
		}
		g := newGate(t)
		u, _ := g.serve("c1", Config{URL: newSite(t, served(t, newServer(nil), options)).url()})
		answered, _ := g.ask("c1", codec.CallTool, `{"name":"progress","_meta":{"progressToken":5}}`)
		if got := soon(t, answered); text(t, got.body) != "done" {
			t.Fatalf("%s: settled as %+v", name, got)
		}
		for range 50 {
			if got := soon(t, g.heard); !strings.Contains(got, `"progressToken":5`) {
				t.Fatalf("%s: heard %s", name, got)
			}
		}
		if s := u.Stats(); s.Unheard != 0 || s.Dropped != 0 {
			t.Errorf("%s: stats %+v", name, s)
		}
	}
}
