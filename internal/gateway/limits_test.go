package gateway

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// lockedLog is written by a gateway and read by its test.
type lockedLog struct {
	mu  sync.Mutex
	log bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.String()
}

func TestALimitIsRefusedCountedShownAndWarnedOf(t *testing.T) {
	log := &lockedLog{}
	c := onFreePorts()
	c.Limits = Limits{Asks: 2, Waiting: 1, AsksTotal: 3, Streams: 4, Containers: 5}
	c.Logger = slog.New(slog.NewTextHandler(log, nil))
	g := start(t, c)
	defer closeNow(t, g)
	url, session := begin(t, g)
	const call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}`
	waits := make(chan error, 1)
	go func() {
		_, _, err := request(t.Context(), http.MethodPost, url, session, fmt.Sprintf(call, 1))
		waits <- err
	}()
	eventually(t, "a call waits", func() bool { return g.mux.Stats().Waiting == 1 })
	for id := range 3 {
		response, body, err := request(t.Context(), http.MethodPost, url, session, fmt.Sprintf(call, 2+id))
		if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Retry-After") != "1" || !strings.Contains(body, `"data":{"reason":"max-waiting","limit":1}`) {
			t.Fatalf("%v, %v, %s", err, response, body)
		}
	}
	_, metrics := get(t, "http://"+g.OpsAddr().String()+"/metrics")
	for _, line := range []string{
		`gateway_refusals_total{listener="inside",reason="max-waiting"} 3`,
		`gateway_refusals_total{listener="inside",reason="max-asks"} 0`,
		`gateway_refusals_total{listener="outside",reason="max-containers"} 0`,
		`gateway_limit{limit="max-asks"} 2`, `gateway_limit_used{limit="max-asks"} 1`,
		`gateway_limit{limit="max-waiting"} 1`, `gateway_limit_used{limit="max-waiting"} 1`,
		`gateway_limit{limit="max-asks-total"} 3`, `gateway_limit_used{limit="max-asks-total"} 1`,
		`gateway_limit{limit="max-streams"} 4`, `gateway_limit_used{limit="max-streams"} 0`,
		`gateway_limit{limit="max-containers"} 5`, `gateway_limit_used{limit="max-containers"} 1`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("%s is not there", line)
		}
	}
	if n := strings.Count(log.String(), "limit=--max-waiting"); n != 1 {
		t.Errorf("%d lines warn of the limit:\n%s", n, log)
	}
	g.mux.Stop()
	if err := <-waits; err != nil {
		t.Error(err)
	}
}
