package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/certs/certstest"
)

// tokenIn makes a token by the command, in a file.
func tokenIn(t *testing.T, path, keys, container, audience string) (token string) {
	t.Helper()
	code, token, stderr := runOnce(t, "token", "--keys", keys, "--container", container, "--audience", audience, "--ttl", "10m")
	if code != exitOK {
		t.Fatal(stderr)
	}
	if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(token)
}

// bearing makes requests with a token, over TLS.
type bearing struct {
	token string
	over  http.RoundTripper
}

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.over.RoundTrip(r)
}

// answerProcess starts gateway answer as a process of its own.
func answerProcess(t *testing.T, args ...string) (process *exec.Cmd, stderr *output) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process = exec.CommandContext(t.Context(), executable, append([]string{"answer"}, args...)...)
	process.Env = append(os.Environ(), asProgram+"=1")
	stderr = newOutput()
	process.Stderr = stderr
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	return process, stderr
}

func terminate(t *testing.T, process *exec.Cmd, stderr *output) {
	t.Helper()
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err != nil {
		t.Errorf("%v; standard error:\n%s", err, stderr)
	}
}

// TestSharedSafely goes the whole way through processes: keys, tokens, a gateway on all addresses, a provider's server, a
// client, all over TLS.
func TestSharedSafely(t *testing.T) {
	folder := t.TempDir()
	keys := keysFile(t)
	ca, clients := certstest.New(t), certstest.New(t)
	cert, key := ca.Issue("localhost", time.Hour).Files(folder)
	ownFolder := t.TempDir()
	clientCert, clientKey := clients.Issue("provider", time.Hour).Files(ownFolder)
	mine, others := tokenIn(t, filepath.Join(folder, "a1"), keys, "a1", "inside"), tokenIn(t, filepath.Join(folder, "a2"), keys, "a2", "inside")
	every := filepath.Join(folder, "every")
	tokenIn(t, every, keys, "*", "outside")

	gateway, addresses, stderr := programWith(t, nil, "--outside", "0.0.0.0:0", "--inside", "0.0.0.0:0", "--auth-keys", keys,
		"--tls-cert", cert, "--tls-key", key, "--client-ca", clients.File())
	_, outsidePort, _ := net.SplitHostPort(addresses[1])
	_, insidePort, _ := net.SplitHostPort(addresses[2])
	server, err := startDemoServer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answer, said := answerProcess(t, "--gateway", "wss://127.0.0.1:"+outsidePort, "--container", "*", "--upstream", server.url,
		"--token-file", every, "--ca", ca.File(), "--client-cert", clientCert, "--client-key", clientKey)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}
	defer transport.CloseIdleConnections()
	url := "https://127.0.0.1:" + insidePort
	for _, path := range []string{"/mcp", "/containers/a1/mcp"} {
		client, err := connectDemoClient(ctx, url+path, &http.Client{Transport: bearing{mine, transport}})
		if err != nil {
			t.Fatal(err)
		}
		showAll(t, ctx, client, "a1 at "+path)
	}
	for name, token := range map[string]string{"another's token": others, "no token": ""} {
		if _, err := connectDemoClient(ctx, url+"/containers/a1/mcp", &http.Client{Transport: bearing{token, transport}}); err == nil {
			t.Errorf("with %s a client was let in", name)
		}
	}
	terminate(t, answer, said)
	if err := server.close(); err != nil {
		t.Error(err)
	}
	transport.CloseIdleConnections()
	terminate(t, gateway, stderr)
	for _, log := range []*output{said, stderr} {
		if strings.Contains(log.String(), strings.Split(mine, ".")[2]) {
			t.Errorf("a log holds a token:\n%s", log)
		}
	}
}

func TestTokensInTheClearAreWarnedOf(t *testing.T) {
	keys := keysFile(t)
	for address, warns := range map[string]bool{"127.0.0.1:0": false, "0.0.0.0:0": true} {
		r, _, _, _ := serveOnFreePorts(t, "--auth-keys", keys, "--inside", address)
		r.end(t)
		if strings.Contains(r.stderr.String(), "in the clear") != warns {
			t.Errorf("%s: %s", address, r.stderr)
		}
	}
}

func TestATokenFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := &tokenFile{path: path}
	for _, text := range []string{"a.b.c\n", "d.e.f"} {
		write(text)
		f.read = time.Time{} // a second has passed
		if got, err := f.token(t.Context()); err != nil || got != strings.TrimSpace(text) {
			t.Errorf("%q, %v", got, err)
		}
	}
	for _, text := range []string{"", " \n", "a.b.c\nd.e.f\n", "Bearer a.b.c", "a\x00"} {
		write(text)
		f.read = time.Time{}
		if got, err := f.token(t.Context()); err == nil || !strings.Contains(err.Error(), "gateway token") || strings.Contains(err.Error(), "a.b.c") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
