package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/pkg/answer"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// tenant is one container of a Shared, in a test's hands.
type tenant struct {
	*seat
	heard chan string
	leave func() // closes its notifications path
}

func newTenant(t *testing.T, s *Shared, container string) *tenant {
	t.Helper()
	c := &tenant{seat: s.For(container).(*seat), heard: make(chan string, 10_000)}
	c.leave = listen(t, c.seat, func(n []byte) error { c.heard <- string(n); return nil })
	return c
}

func tenants(t *testing.T, s *Shared, n int) []*tenant {
	t.Helper()
	all := make([]*tenant, n)
	for i := range all {
		all[i] = newTenant(t, s, fmt.Sprint("c", i))
	}
	return all
}

// only says what was heard, to the last.
func (c *tenant) only(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	for _, w := range want {
		select {
		case got := <-c.heard:
			if got != w {
				t.Errorf("%s heard %s\nwant %s", c.container, got, w)
			}
		default:
			t.Errorf("%s did not hear %s", c.container, w)
		}
	}
	for len(c.heard) > 0 {
		t.Errorf("%s heard %s, which is not for it", c.container, <-c.heard)
	}
}

// outcome is how a call ended.
type outcome struct {
	result string
	err    error
}

// call begins a call.
func (c *tenant) call(ctx context.Context, params string) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		result, err := c.Answer(ctx, codec.CallTool, []byte(params))
		done <- outcome{string(result), err}
	}()
	return done
}

func (m *memory) progress(token, rest string) {
	m.notify(methodProgress, `{"progressToken":`+token+rest+`}`)
}

func TestN7_ProgressReachesOnlyTheContainerThatAskedUnderItsOwnToken(t *testing.T) {
	// What is in front of a token and behind it passes byte for byte, as does the token on its way back.
	const front, behind = `{"arguments":{"_meta":{"progressToken":"not this"},"n":1.0,"dup":1,"dup":2},"_m\u0065ta": {"k":[] , "progressToken" :`, ` , "later":12345678901234567890},"x":"\u2028"}`
	for _, token := range []string{`"a"`, `1`, `2`, `"1"`, `""`, `-0`, `1.50e+3`, `12345678901234567890`, `"\u0061\ud800\\\""`, `"é"`} {
		t.Run(token, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newMemory()
				s := openShared(t, server, Config{})
				all := tenants(t, s, 3)
				done := make([]<-chan outcome, len(all))
				asked := make([]*jsonrpc.Request, len(all))
				tokens := map[string]bool{}
				for i, c := range all {
					done[i] = c.call(t.Context(), front+token+behind)
					asked[i] = server.next(t, "tools/call")
					ours, ok := strings.CutPrefix(string(asked[i].Params), front)
					ours, ok2 := strings.CutSuffix(ours, behind)
					if !ok || !ok2 || tokens[ours] {
						t.Fatalf("the server got %s", asked[i].Params)
					}
					tokens[ours] = true
				}
				mine := func(i int) string {
					ours := strings.TrimPrefix(string(asked[i].Params), front)
					return strings.TrimSuffix(ours, behind)
				}
				for _, i := range []int{2, 0, 1} {
					server.progress(mine(i), fmt.Sprintf(` ,"progress":%d.0,"new":{"progressToken":1}`, i))
					server.notify(methodProgress, fmt.Sprintf(`{"message":"<&>","progressToken": %s}`, mine(i)))
				}
				for i, c := range all {
					c.only(t,
						fmt.Sprintf(`{"method":"notifications/progress","params":{"progressToken":%s ,"progress":%d.0,"new":{"progressToken":1}}}`, token, i),
						fmt.Sprintf(`{"method":"notifications/progress","params":{"message":"<&>","progressToken": %s}}`, token))
				}
				for i := range all {
					server.answer(asked[i], fmt.Sprint(`{"content":[],"of":`, i, `}`))
					if got := <-done[i]; got.err != nil || got.result != fmt.Sprint(`{"content":[],"of":`, i, `}`) {
						t.Errorf("call %d ended with %+v", i, got)
					}
					server.progress(mine(i), "")
				}
				for _, c := range all {
					c.only(t)
				}
				if got := s.Stats(); got.Strays != 3 || got.Dropped != 0 {
					t.Errorf("stats %+v", got)
				}
				if n := len(s.tokens.waiting); n != 0 {
					t.Errorf("%d tokens are left", n)
				}
			})
		})
	}
}

func TestProgressOfNoWaitingCallIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newMemory()
		s := openShared(t, server, Config{})
		c := newTenant(t, s, "c")
		done := c.call(t.Context(), `{"_meta":{"progressToken":7}}`)
		asked := server.next(t, "tools/call")
		stray := []string{`{"progressToken":7}`, `{"progressToken":"1"}`, `{"progressToken":1.0}`, `{"progressToken":null}`, `{"progressToken":-1}`,
			`{"progressToken":1,"progressToken":1}`, `{"progress":1}`, `{}`, ``, `[1]`, `{"progressToken":99999999999999999999}`}
		for _, params := range stray {
			server.notify(methodProgress, params)
		}
		server.answer(asked, `{}`)
		<-done
		c.only(t)
		if got := s.Stats().Strays; got != uint64(len(stray)) {
			t.Errorf("%d strays, want %d", got, len(stray))
		}
	})
}

func TestParamsWithoutATokenOrWithoutAnUnequivocalOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newMemory()
		s := openShared(t, server, Config{})
		c := newTenant(t, s, "c")
		for _, params := range []string{`{}`, `{"_meta":null}`, `{"_meta":[{"progressToken":1}]}`, `{"_meta":{}}`, `{"_meta":{"progressToken":null}}`,
			`{"_meta":{"progressToken":{"a":1}}}`, `{"progressToken":1}`, `{"a":{"_meta":{"progressToken":1}}}`} {
			done := c.call(t.Context(), params)
			asked := server.next(t, "tools/call")
			if string(asked.Params) != params {
				t.Errorf("%s became %s", params, asked.Params)
			}
			server.answer(asked, `{}`)
			<-done
		}
		for _, params := range []string{`{"_meta":{"progressToken":1},"_meta":{}}`, `{"_meta":{"progressToken":1,"progressToke\u006e":2}}`} {
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

func TestOneContainersCancelLeavesTheOthersCallsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newMemory()
		s := openShared(t, server, Config{})
		all := tenants(t, s, 3)
		const params = `{"name":"same","_meta":{"progressToken":1}}`
		ctx, cancel := context.WithCancel(t.Context())
		cancelled := all[1].call(ctx, params)
		first := server.next(t, "tools/call")
		var done []<-chan outcome
		var asked []*jsonrpc.Request
		for _, i := range []int{0, 1, 2} {
			done = append(done, all[i].call(t.Context(), params))
			asked = append(asked, server.next(t, "tools/call"))
		}
		cancel()
		if got := <-cancelled; !errors.Is(got.err, context.Canceled) {
			t.Errorf("the cancelled call ended with %+v", got)
		}
		notice := server.next(t, "notifications/cancelled")
		if want := fmt.Sprintf(`"requestId":%d,`, first.ID.Raw()); !strings.Contains(string(notice.Params), want) {
			t.Errorf("cancelled was %s, want %s", notice.Params, want)
		}
		server.answer(first, `{"late":true}`) // the server crossed with it
		for i := range done {
			server.answer(asked[i], fmt.Sprint(i))
			if got := <-done[i]; got.err != nil || got.result != fmt.Sprint(i) {
				t.Errorf("call %d ended with %+v", i, got)
			}
		}
		if got := s.Stats(); got.Cancelled != 1 || got.Unmatched != 1 || len(server.messages) != 0 {
			t.Errorf("stats %+v, %d messages", got, len(server.messages))
		}
	})
}

func numbered(i int) string { return fmt.Sprintf(`{"n":%d,"unknown":[1.00,{"a":"\u2028<"}]}`, i) }

func TestN7_NumberedNotificationsAreHeardByAllContainersInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const containers, notifications = 200, 300
		server := newMemory()
		s := openShared(t, server, Config{})
		all := tenants(t, s, containers)
		done := all[7].call(t.Context(), `{"_meta":{"progressToken":"p"}}`)
		asked := server.next(t, "tools/call")
		for i := range notifications {
			method := "notifications/custom"
			if i%3 == 0 {
				method = "notifications/tools/list_changed" // not merged either
			}
			server.notify(method, numbered(i))
			server.progress("1", fmt.Sprintf(`,"after":%d`, i))
		}
		server.answer(asked, `{}`)
		if got := <-done; got.err != nil {
			t.Fatal(got.err)
		}
		if got := len(all[7].heard); got != 2*notifications {
			t.Errorf("the answer came after %d notifications, want %d", got, 2*notifications)
		}
		synctest.Wait()
		for c, tenant := range all {
			for i := range notifications {
				if got := <-tenant.heard; !strings.HasSuffix(got, `,"params":`+numbered(i)+`}`) {
					t.Fatalf("container %d heard %s, want number %d", c, got, i)
				}
				if c == 7 {
					if got := <-tenant.heard; !strings.Contains(got, fmt.Sprintf(`{"progressToken":"p","after":%d}`, i)) {
						t.Fatalf("heard %s, want progress %d", got, i)
					}
				}
			}
			tenant.only(t)
		}
		if got := s.Stats(); got.Dropped != 0 || got.Unheard != 0 || got.Paths != containers {
			t.Errorf("stats %+v", got)
		}
	})
}

func TestG4_AContainerThatDoesNotReadSlowsNobodyAndLosesOnlyItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const over = 100
		server := newMemory()
		s := openShared(t, server, Config{})
		blocked := &tenant{seat: s.For("blocked").(*seat)}
		through := make(chan struct{})
		var late []string
		leave := listen(t, blocked.seat, func(n []byte) error { <-through; late = append(late, string(n)); return nil })
		all := tenants(t, s, 10)
		start := time.Now()
		call := func(c *tenant) {
			done := c.call(t.Context(), `{"_meta":{"progressToken":1}}`)
			asked := server.next(t, "tools/call")
			server.progress(strings.Trim(string(asked.Params), `{}":_metaprogsTkn`), "")
			server.answer(asked, `{}`)
			if got := <-done; got.err != nil {
				t.Fatal(got.err)
			}
		}
		call(all[0])
		server.notify("notifications/custom", numbered(0)) // it blocks
		synctest.Wait()
		for i := range feedMessages - 1 + over {
			server.notify("notifications/custom", numbered(i+1))
			if i%1000 == 0 {
				synctest.Wait() // the others keep up
			}
		}
		for _, c := range all {
			call(c)
		}
		if got := time.Since(start); got != 0 {
			t.Errorf("the others' calls took %v", got)
		}
		for i, c := range all {
			want := feedMessages + over + 1
			if i == 0 {
				want++
			}
			if len(c.heard) != want {
				t.Errorf("container %d heard %d, want %d", i, len(c.heard), want)
			}
		}
		if got := s.Stats().Dropped; got != over {
			t.Errorf("%d dropped, want %d", got, over)
		}
		call(blocked)
		if got := time.Since(start); got != orderTimeout {
			t.Errorf("its own call took %v, want %v", got, orderTimeout)
		}
		close(through)
		synctest.Wait()
		leave()
		if len(late) != feedMessages || !strings.Contains(late[0], `"n":0,`) || !strings.Contains(late[len(late)-1], `"progressToken":1`) {
			t.Errorf("it got %d notifications, the last %s", len(late), late[len(late)-1])
		}
	})
}

func TestAnUpstreamRestartIsAnnouncedToEveryContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newMemory()
		s := openShared(t, server, Config{})
		all := tenants(t, s, 20)
		done := all[3].call(t.Context(), `{}`)
		server.next(t, "tools/call")
		for _, c := range all {
			c.only(t)
		}
		server.crash()
		if got := <-done; got.err == nil || !strings.Contains(got.err.Error(), "lost before it answered") {
			t.Errorf("the call ended with %+v", got)
		}
		<-time.After(time.Second)
		for _, c := range all {
			c.only(t, toolsChangedText, resourcesChangedText)
		}
		done = all[3].call(t.Context(), `{}`)
		server.answer(server.next(t, "tools/call"), `{"again":1}`)
		if got := <-done; got.result != `{"again":1}` {
			t.Errorf("the call ended with %+v", got)
		}
		if got := s.Stats(); got.Sessions != 2 || got.Lost != 1 {
			t.Errorf("stats %+v", got)
		}
	})
}

func TestANotificationThatIsNoneIsDroppedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newMemory()
		log := &journal{}
		s := openShared(t, server, Config{Logger: log.logger()})
		all := tenants(t, s, 20)
		synctest.Wait()
		server.notify("notifications/custom", `[1]`)
		server.notify("notifications/custom", `{"uri":1,"uri":2}`)
		server.notify("notifications/custom", `{}`)
		for _, c := range all {
			c.only(t, `{"method":"notifications/custom","params":{}}`)
		}
		if got := strings.Count(log.String(), "dropped"); got != 2 || s.Stats().Dropped != 2 {
			t.Errorf("logged %d times, stats %+v", got, s.Stats())
		}
	})
}

func TestClosingASharedEndsItsCallsAndPaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newMemory()
		s := openShared(t, server, Config{})
		all := tenants(t, s, 20)
		done := all[3].call(t.Context(), `{}`)
		server.next(t, "tools/call")
		server.notify("notifications/custom", `{}`)
		all[0].leave()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got := <-done; got.err == nil || !strings.Contains(got.err.Error(), toldLost) {
			t.Errorf("the call ended with %+v", got)
		}
		if got := <-all[4].call(t.Context(), `{}`); got.err == nil || !strings.Contains(got.err.Error(), toldUnreachable) {
			t.Errorf("a call after Close ended with %+v", got)
		}
		if err := s.For("new").Notifications(t.Context(), nil); err != nil {
			t.Errorf("Notifications after Close returned %v", err)
		}
		synctest.Wait()
		if got := s.Stats(); got.Connected || got.Paths != 0 {
			t.Errorf("stats %+v", got)
		}
	})
}

// crossed is a server that answers no call of a round before all of them are there, and the last first.
func crossed(round int) *raw {
	var mu sync.Mutex
	turn := make([]chan struct{}, 0, round)
	server := &raw{session: "the only one"}
	server.answer = func(w http.ResponseWriter, m message) {
		mine := make(chan struct{})
		mu.Lock()
		before := turn
		if turn = append(turn, mine); len(turn) == round {
			turn = turn[:0:0]
			close(mine)
		}
		mu.Unlock()
		<-mine
		m.result(w, `{"content":[],"of":`+string(m.Params)+`}`)
		if len(before) > 0 {
			close(before[len(before)-1])
		}
	}
	return server
}

func TestManyContainersAreAnsweredOverOneSession(t *testing.T) {
	const containers, calls, rounds = 200, 4, 3
	server := crossed(containers * calls)
	s := openShared(t, nil, Config{URL: newSite(t, server).url()})
	handlers := make([]answer.Handler, containers)
	for c := range handlers {
		handlers[c] = s.For(fmt.Sprint("c", c))
	}
	for round := range rounds {
		ctx := patient(t)
		var group sync.WaitGroup
		for c, h := range handlers {
			for n := range calls {
				group.Go(func() {
					params := fmt.Sprintf(`{"round":%d,"c":%d,"n":%d}`, round, c, n)
					got, err := h.Answer(ctx, codec.CallTool, []byte(params))
					if err != nil || string(got) != `{"content":[],"of":`+params+`}` {
						t.Errorf("%s was answered with %s, %v", params, got, err)
					}
				})
			}
		}
		group.Wait()
	}
	if got := len(server.got("tools/call")); got != containers*calls*rounds {
		t.Errorf("the server got %d calls, want %d", got, containers*calls*rounds)
	}
	if got := s.Stats(); got.Sessions != 1 || len(server.got("initialize")) != 1 {
		t.Errorf("stats %+v, want one session", got)
	}
}

func TestDoubtsOfManyCallsShareProbes(t *testing.T) {
	const calls = 100
	server := &raw{session: "s"}
	var arrived, refused sync.WaitGroup
	arrived.Add(calls)
	refused.Add(calls)
	server.pinged = refused.Wait
	server.answer = func(w http.ResponseWriter, m message) {
		defer refused.Done()
		arrived.Done()
		arrived.Wait()
		http.Error(w, "no such tool", http.StatusBadRequest)
	}
	s := openShared(t, nil, Config{URL: newSite(t, server).url()})
	ctx := patient(t)
	var group sync.WaitGroup
	for c := range calls {
		group.Go(func() {
			_, err := s.For(fmt.Sprint("c", c)).Answer(ctx, codec.CallTool, []byte(`{}`))
			if err == nil || !strings.Contains(err.Error(), "(HTTP status 400)") {
				t.Errorf("call %d ended with %v", c, err)
			}
		})
	}
	group.Wait()
	if got := s.Stats(); got.Lost != 0 {
		t.Errorf("stats %+v", got)
	}
	if got := len(server.got("ping")); got == 0 || got > calls/2 {
		t.Errorf("the server was probed %d times for %d doubts", got, calls)
	}
}

func TestASharedCommandServesContainersWithEqualTokens(t *testing.T) {
	s := openShared(t, nil, helper(t, "server", quiet))
	all := tenants(t, s, 20)
	var group sync.WaitGroup
	for i, c := range all {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			token := []string{`"t-1"`, `9007199254740991`}[i%2]
			if _, err := c.Answer(ctx, codec.CallTool, []byte(`{"name":"progress","_meta":{"progressToken":`+token+`}}`)); err != nil {
				t.Errorf("%s: %v", c.container, err)
			}
			if len(c.heard) != 50 {
				t.Errorf("%s heard %d before its answer, want 50", c.container, len(c.heard))
			}
			for len(c.heard) > 0 {
				if got := <-c.heard; !strings.Contains(got, `"progressToken":`+token) {
					t.Errorf("%s heard %s", c.container, got)
				}
			}
		})
	}
	group.Wait()
	if got := s.Stats(); got.Sessions != 1 || got.Strays != 0 {
		t.Errorf("stats %+v", got)
	}
}

func TestACancelOfOneContainerReachesItsToolAlone(t *testing.T) {
	box := newToolbox()
	s := openShared(t, nil, Config{URL: newSite(t, served(t, newServer(box), nil)).url()})
	all := tenants(t, s, 2)
	ctx, cancel := context.WithCancel(context.Background())
	cancelled := all[0].call(ctx, `{"name":"wait","arguments":{"n":1}}`)
	soon(t, box.started)
	other := all[1].call(context.Background(), `{"name":"wait","arguments":{"n":2}}`)
	soon(t, box.started)
	cancel()
	if got := soon(t, box.cancelled); got != `{"n":1}` {
		t.Errorf("cancelled %s", got)
	}
	if got := soon(t, cancelled); !errors.Is(got.err, context.Canceled) {
		t.Errorf("the cancelled call ended with %+v", got)
	}
	close(box.release)
	if got := soon(t, other); got.err != nil || text(t, got.result) != "released" {
		t.Errorf("the other call ended with %+v", got)
	}
}
