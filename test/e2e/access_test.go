package e2e

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/diverge-network/gateway/internal/auth"
	"github.com/diverge-network/gateway/internal/auth/authtest"
	"github.com/diverge-network/gateway/internal/certs/certstest"
	"github.com/diverge-network/gateway/internal/gateway"
	"github.com/diverge-network/gateway/pkg/answer"
	"github.com/diverge-network/gateway/pkg/answer/upstream"
)

// secured is a gateway that asks for tokens and speaks TLS, and what it takes to get in.
type secured struct {
	t       *testing.T
	g       *gateway.Gateway
	keys    *authtest.Keyring
	ca      *certstest.Authority // of the gateway
	clients *certstest.Authority // of servers
	folder  string               // of the gateway's certificate

	inside, outside atomic.Pointer[string] // the tokens of container a1
}

func startSecured(t *testing.T) *secured {
	t.Helper()
	s := &secured{t: t, keys: authtest.New(t), ca: certstest.New(t), clients: certstest.New(t), folder: t.TempDir()}
	s.sign()
	cert, key := s.ca.Issue("first", time.Hour).Files(s.folder)
	s.g = startGateway(t, func(c *gateway.Config) {
		c.AuthKeys, c.TLSCert, c.TLSKey, c.ClientCA = s.keys.Path, cert, key, s.clients.File()
	})
	return s
}

// sign makes tokens with the key as it is.
func (s *secured) sign() {
	inside, outside := s.keys.Token("a1", auth.Inside, time.Now()), s.keys.Token("a1", auth.Outside, time.Now())
	s.inside.Store(&inside)
	s.outside.Store(&outside)
}

// answer serves container a1.
func (s *secured) answer(url string) {
	s.t.Helper()
	up, err := upstream.New(upstream.Config{URL: url, Logger: quiet})
	if err != nil {
		s.t.Fatal(err)
	}
	run(s.t, &answer.Server{
		Gateway: "wss://" + s.g.OutsideAddr().String(), Container: "a1", Handler: up, Logger: quiet,
		Token: func(context.Context) (string, error) { return *s.outside.Load(), nil },
		TLS: &tls.Config{RootCAs: s.ca.Pool(), Certificates: []tls.Certificate{s.clients.Issue("provider", time.Hour).Loaded()},
			ClientSessionCache: tls.NewLRUClientSessionCache(0)},
	}, up)
}

// bearing makes requests with the token of their time.
type bearing struct {
	token *atomic.Pointer[string]
	over  *http.Transport
}

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+*b.token.Load())
	return b.over.RoundTrip(r)
}

func (s *secured) transport() *http.Transport {
	over := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.ca.Pool()}, MaxIdleConnsPerHost: 8}
	s.t.Cleanup(over.CloseIdleConnections)
	return over
}

// connect is the client of container a1, at the path without a prefix: it is the token's.
func (s *secured) connect(revision string, opts *mcp.ClientOptions) *mcp.ClientSession {
	s.t.Helper()
	return connectBy(s.t, "https://"+s.g.InsideAddr().String()+"/mcp", bearing{&s.inside, s.transport()}, revision, opts)
}

// TestEverythingOverTLS has each kind of exchange, notifications, and results of many records.
func TestEverythingOverTLS(t *testing.T) {
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			s := startSecured(t)
			s.answer(startUpstream(t, newServer(func(string) {})))
			changed := make(chan struct{}, 8)
			session := s.connect(revision, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
			})
			useAll(t, session, changed, revision)
			for _, size := range []int{16 << 10, 1 << 20, 3 << 20} {
				long := strings.Repeat("0123456789abcdef", size/16)
				result, err := session.CallTool(deadline(t), &mcp.CallToolParams{Name: "echo", Arguments: echoIn{long}})
				if err != nil || text(t, result) != "you said "+long {
					t.Fatalf("%d bytes: %v", size, err)
				}
			}
		})
	}
}

func TestWithoutACertificateOfTheClientCAOutsideIsShut(t *testing.T) {
	s := startSecured(t)
	for name, own := range map[string][]tls.Certificate{"none": nil, "another CA's": {certstest.New(t).Issue("provider", time.Hour).Loaded()}} {
		conn, err := tls.Dial("tcp", s.g.OutsideAddr().String(), &tls.Config{RootCAs: s.ca.Pool(), Certificates: own})
		if err == nil { // in TLS 1.3 the server's verdict comes behind the handshake
			_, err = conn.Read(make([]byte, 1))
			conn.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A certificate is no token.
	over := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.ca.Pool(), Certificates: []tls.Certificate{s.clients.Issue("provider", time.Hour).Loaded()}}}
	defer over.CloseIdleConnections()
	r, err := (&http.Client{Transport: over}).Get("https://" + s.g.OutsideAddr().String() + "/containers")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusUnauthorized {
		t.Errorf("with a certificate and no token: %d", r.StatusCode)
	}
}

// TestKeysAndCertificatesAreReplacedWhileACallRuns: what was let in by the old key has to come again with the new one,
// and loses nothing.
func TestKeysAndCertificatesAreReplacedWhileACallRuns(t *testing.T) {
	s := startSecured(t)
	server := newServer(func(string) {})
	running, finish := make(chan struct{}), make(chan struct{})
	mcp.AddTool(server, &mcp.Tool{Name: "wait"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		close(running)
		<-finish
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "waited"}}}, nil, nil
	})
	s.answer(startUpstream(t, server))
	session := s.connect("2025-11-25", nil)
	ctx := deadline(t)
	waited := make(chan error, 1)
	go func() {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "wait"})
		if err == nil && text(t, result) != "waited" {
			t.Errorf("%+v", result)
		}
		waited <- err
	}()
	<-running

	old := *s.inside.Load()
	s.keys.Replace()
	s.sign()
	s.ca.Issue("second", time.Hour).Files(s.folder)
	await(t, ctx, "the new certificate is served", func() bool {
		conn, err := tls.Dial("tcp", s.g.InsideAddr().String(), &tls.Config{RootCAs: s.ca.Pool()})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].Subject.CommonName == "second"
	})
	status := func(token string) int {
		r, err := http.NewRequestWithContext(ctx, http.MethodDelete, "https://"+s.g.InsideAddr().String()+"/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		var p atomic.Pointer[string]
		p.Store(&token)
		answer, err := bearing{&p, s.transport()}.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	await(t, ctx, "the old key is gone", func() bool { return status(old) == http.StatusUnauthorized })
	if got := status(*s.inside.Load()); got != http.StatusBadRequest { // let in, and has no session
		t.Errorf("with a token of the new key: %d", got)
	}
	// What the old key let in has ended, and is there again.
	await(t, ctx, "the streams of the old key have ended", func() bool { return metric(t, s.g, `gateway_streams_closed_total{reason="token"}`) != "0" })
	await(t, ctx, "the server is back", func() bool { return metric(t, s.g, "gateway_sockets_opened_total{path=\"requests\"}") == "2" })
	close(finish)
	if err := <-waited; err != nil {
		t.Errorf("the call that ran meanwhile: %v", err)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: echoIn{"again"}})
	if err != nil || text(t, result) != "you said again" {
		t.Errorf("%+v, %v", result, err)
	}
}

// await asks until something holds.
func await(t *testing.T, ctx context.Context, what string, holds func() bool) {
	t.Helper()
	for ticker := time.NewTicker(50 * time.Millisecond); !holds(); {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// metric is the value of one metric.
func metric(t *testing.T, g *gateway.Gateway, name string) string {
	t.Helper()
	r, err := http.Get("http://" + g.OpsAddr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("there is no %s", name)
	return ""
}
