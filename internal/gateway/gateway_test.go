package gateway

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// patience is how long a test waits for what must happen.
const patience = wstest.Patience

// onFreePorts is the default configuration on ports of its own, without a log.
func onFreePorts() Config {
	c := Default()
	c.Outside, c.Inside, c.Ops = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	c.Logger = slog.New(slog.DiscardHandler)
	return c
}

func start(t *testing.T, c Config) *Gateway {
	t.Helper()
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	return g
}

func closeNow(t *testing.T, g *Gateway) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := g.Close(ctx); err != nil {
		t.Error(err)
	}
}

// request makes one request on a connection of its own.
func request(ctx context.Context, method, url, session, body string) (*http.Response, string, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	return response, string(read), err
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	response, body, err := request(t.Context(), http.MethodGet, url, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`

// begin starts an MCP session of the default container.
func begin(t *testing.T, g *Gateway) (url, session string) {
	t.Helper()
	url = "http://" + g.InsideAddr().String() + "/mcp"
	response, body, err := request(t.Context(), http.MethodPost, url, "", initialize)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("initialize: %v %q %v", response, body, err)
	}
	return url, response.Header.Get("Mcp-Session-Id")
}

func TestAGatewayIsReadyWhileItServes(t *testing.T) {
	g := start(t, onFreePorts())
	ops := "http://" + g.OpsAddr().String()
	for path, says := range map[string]string{
		"/readyz":  "ready",
		"/healthz": "alive",
		"/metrics": "\ngateway_ready 1\n",
	} {
		if status, body := get(t, ops+path); status != http.StatusOK || !strings.Contains(body, says) {
			t.Errorf("%s: %d, without %q", path, status, says)
		}
	}
	closeNow(t, g)
	if _, err := net.Dial("tcp", g.OpsAddr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the ops listener after Close: %v", err)
	}
}

func TestOneExchangeIsCountedWhereverItPasses(t *testing.T) {
	g := start(t, onFreePorts())
	defer closeNow(t, g)
	provider := wstest.Dial(t, g.OutsideAddr().String(), "/requests")
	url, session := begin(t, g)

	type answer struct {
		body string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		_, body, err := request(t.Context(), http.MethodPost, url, session, `{"jsonrpc":"2.0","id":"x","method":"tools/list"}`)
		answered <- answer{body, err}
	}()
	ask := provider.ReadBinary()
	channel := strconv.FormatUint(uint64(binary.BigEndian.Uint32(ask)), 10)
	path := wstest.Dial(t, g.OutsideAddr().String(), "/mcp/list-tools/"+channel)
	path.BinaryAndClose([]byte("\x00" + `{"tools":[]}`))
	path.ReadClose()
	if a := <-answered; a.err != nil || a.body != `{"jsonrpc":"2.0","id":"x","result":{"tools":[]}}` {
		t.Fatalf("answer %q, %v", a.body, a.err)
	}
	if status, _ := get(t, "http://"+g.InsideAddr().String()+"/nowhere"); status != http.StatusNotFound {
		t.Errorf("/nowhere: %d", status)
	}

	_, metrics := get(t, "http://"+g.OpsAddr().String()+"/metrics")
	for _, line := range []string{
		`gateway_exchanges_total{kind="list-tools",outcome="answered"} 1`,
		`gateway_exchange_seconds_count{kind="list-tools"} 1`,
		`gateway_sockets_open{path="requests"} 1`,
		`gateway_sockets_opened_total{path="list-tools"} 1`,
		`gateway_refusals_total{listener="inside",reason="unknown-path"} 1`,
		`gateway_refusals_total{listener="outside",reason="claimed"} 0`,
		`gateway_notification_asks{state="announced"} 1`,
		`gateway_containers 1`,
		`gateway_containers_connected 1`,
	} {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	for _, line := range strings.Split(metrics, "\n") {
		if strings.Contains(line, `"other"`) && !strings.HasSuffix(line, " 0") {
			t.Errorf("outside its closed set: %s", line)
		}
	}
}

func TestCloseTakesNothingNewAnswersWhoWaitsAndClosesRequestsCleanly(t *testing.T) {
	g := start(t, onFreePorts())
	provider := wstest.Dial(t, g.OutsideAddr().String(), "/requests")
	url, session := begin(t, g)
	type answer struct {
		body string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		_, body, err := request(context.Background(), http.MethodPost, url, session, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`)
		answered <- answer{body, err}
	}()
	provider.ReadBinary() // the ask has been announced
	provider.ReadBinary() // and the one for notifications

	closed := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		closed <- g.Close(ctx)
	}()
	if a := <-answered; a.err != nil || !strings.Contains(a.body, `"id":7`) || !strings.Contains(a.body, "-32603") {
		t.Errorf("the caller got %q, %v", a.body, a.err)
	}
	if code, _ := provider.ReadClose(); code != 1001 {
		t.Errorf("/requests was closed with %d, want 1001", code)
	}
	// The gateway now waits for the server's Close, no longer than a second.
	if status, body := get(t, "http://"+g.OpsAddr().String()+"/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("/readyz while it stops: %d %q", status, body)
	}
	for _, address := range []net.Addr{g.InsideAddr(), g.OutsideAddr()} {
		if _, err := net.Dial("tcp", address.String()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dialling %v while it stops: %v", address, err)
		}
	}
	provider.Close(1001)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestASessionOutlivesARestartWithItsKeyFile(t *testing.T) {
	c := onFreePorts()
	c.SessionKeyFile = keyFile(t, []byte(strings.Repeat("k", minKey)))
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`

	g := start(t, c)
	_, session := begin(t, g)
	closeNow(t, g)

	g = start(t, c)
	defer closeNow(t, g)
	url := "http://" + g.InsideAddr().String() + "/mcp"
	if response, body, err := request(t.Context(), http.MethodPost, url, session, ping); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("with the key file: %v %q %v", response, body, err)
	}

	other := start(t, onFreePorts())
	defer closeNow(t, other)
	url = "http://" + other.InsideAddr().String() + "/mcp"
	if response, body, err := request(t.Context(), http.MethodPost, url, session, ping); err != nil || response.StatusCode != http.StatusNotFound {
		t.Errorf("with another key: %v %q %v", response, body, err)
	}
}

func TestAPortInUseIsOneLineAndNothingStaysOpen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	c := onFreePorts()
	c.Ops = taken.Addr().String()
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	err = g.Start()
	var refused *ListenError
	if !errors.As(err, &refused) || !errors.Is(err, syscall.EADDRINUSE) {
		t.Fatalf("Start = %v, want a *ListenError", err)
	}
	for _, says := range []string{"--ops", c.Ops, "address already in use", "choose another port"} {
		if text := err.Error(); !strings.Contains(text, says) || strings.Contains(text, "\n") {
			t.Errorf("%q does not say %q in one line", text, says)
		}
	}
	for _, r := range []*room{&g.outside, &g.inside} {
		if conn, err := net.Dial("tcp", r.bound.Addr().String()); err == nil {
			conn.Close()
			t.Errorf("%s stayed open", r.flag)
		}
	}
}

func TestANameIsJudgedByTheAddressItBinds(t *testing.T) {
	l := listener{flag: "--inside", address: "localhost:0"}
	ln, err := l.listen(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	// An address the syntax of which says nothing: every address of this machine.
	l.address = "0.0.0.0:0"
	_, err = l.listen(t.Context(), false)
	var bad *ConfigError
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), "--insecure") {
		t.Errorf("listen = %v, want a *ConfigError", err)
	}
	ln, err = l.listen(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
}

func TestAListenerThatEndsByItselfFailsTheGateway(t *testing.T) {
	g := start(t, onFreePorts())
	g.outside.bound.Close()
	select {
	case <-g.Failed():
	case <-time.After(patience):
		t.Fatal("nobody noticed")
	}
	if status, _ := get(t, "http://"+g.OpsAddr().String()+"/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("/readyz: %d", status)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := g.Close(ctx); err == nil || !strings.Contains(err.Error(), "--outside") {
		t.Errorf("Close = %v, want an error that names --outside", err)
	}
}

func TestAPanicInATimerEndsNothingElseAndIsCounted(t *testing.T) {
	g := start(t, onFreePorts())
	defer closeNow(t, g)
	ran := make(chan struct{})
	guardedClock{g}.AfterFunc(0, func() {
		defer close(ran)
		panic("a line that broke")
	})
	<-ran
	const line = `gateway_panics_total{where="timer"} 1`
	for deadline := time.Now().Add(patience); ; {
		_, metrics := get(t, "http://"+g.OpsAddr().String()+"/metrics")
		if strings.Contains(metrics, line) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s", line)
		}
	}
}
