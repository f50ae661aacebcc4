package gateway

import (
	"bufio"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/mux"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestG6_AGatewayReportsIdleContainersGoneAndForgetsThem(t *testing.T) {
	c := onFreePorts()
	c.ContainerIdle = minInterval
	g := start(t, c)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+g.OutsideAddr().String()+"/containers", nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	says := func(want string) {
		t.Helper()
		for lines.Scan() && lines.Text() == "{}" {
		}
		if lines.Text() != want {
			t.Fatalf("the list says %q %v, want %s", lines.Text(), lines.Err(), want)
		}
	}
	says(`{"complete":0}`)
	url, session := begin(t, g)
	says(`{"came":"default"}`)
	if _, metrics := get(t, "http://"+g.OpsAddr().String()+"/metrics"); !strings.Contains(metrics, "\n"+`gateway_sockets_open{path="containers"} 1`+"\n") {
		t.Error("the list is not counted")
	}
	says(`{"went":"default"}`)
	eventually(t, "the container is forgotten", func() bool { return g.mux.Lookup("default") == nil })
	if answer, body, err := request(t.Context(), http.MethodPost, url, session, ping); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("the session after its container was forgotten: %v %q %v", answer, body, err)
	}
	says(`{"came":"default"}`)
	closeNow(t, g)
	last := "" // a change may have been on its way
	for lines.Scan() {
		last += lines.Text()
	}
	if lines.Err() != nil || last != "" && last != `{"went":"default"}` {
		t.Errorf("the list ended with %q, %v", last, lines.Err())
	}
}

func TestAPanicInASweepIsCountedAndTheNextOneIsMade(t *testing.T) {
	c := onFreePorts()
	c.ContainerIdle = minInterval
	g := start(t, c)
	defer closeNow(t, g)
	defer g.mux.Follow(faulty{})()
	there(g.mux.Enter("a")).Exit()
	const line = `gateway_panics_total{where="sweep"} 1`
	eventually(t, line, func() bool {
		_, metrics := get(t, "http://"+g.OpsAddr().String()+"/metrics")
		return strings.Contains(metrics, line)
	})
	eventually(t, "the container is forgotten", func() bool { return g.mux.Lookup("a") == nil })
}

// faulty is a mux.Follower that cannot stand anyone going.
type faulty struct{}

func (faulty) Snapshot([]string) {}
func (faulty) Came(string)       {}
func (faulty) Went(string)       { panic("a follower's fault") }

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// there is a container that may not be refused.
func there(c *mux.Container, err error) *mux.Container {
	if err != nil {
		panic(err)
	}
	return c
}
