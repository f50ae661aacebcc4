package upstream

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAServerMayTakeItsTimeOverTheEndOfTheHandshake(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration
		told  string
	}{
		{DefaultConnectTimeout - time.Second, ""},
		{DefaultConnectTimeout + time.Second, toldUnreachable},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := newMemory()
			server.initialized = c.takes
			s := openShared(t, server, Config{ConnectTimeout: DefaultConnectTimeout})
			start := time.Now()
			done := newTenant(t, s, "c").call(t.Context(), `{}`)
			if c.told != "" {
				if got := <-done; got.err == nil || !strings.Contains(got.err.Error(), c.told) {
					t.Errorf("the call ended with %+v", got)
				}
				return
			}
			server.answer(server.next(t, "tools/call"), `{}`)
			if got := <-done; got.err != nil || time.Since(start) != c.takes || s.Stats().ConnectFailures != 0 {
				t.Errorf("the call ended with %+v after %v, stats %+v", got, time.Since(start), s.Stats())
			}
		})
	}
}
