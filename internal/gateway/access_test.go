package gateway

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/auth"
	"github.com/diverge-network/gateway/internal/auth/authtest"
	"github.com/diverge-network/gateway/internal/certs/certstest"
)

func TestFilesThatCannotBeUsedAreNamedAtStart(t *testing.T) {
	keys, ca, folder := authtest.New(t), certstest.New(t), t.TempDir()
	cert, key := ca.Issue("localhost", time.Hour).Files(folder)
	_, others := ca.Issue("localhost", time.Hour).Files(t.TempDir())
	broken := filepath.Join(folder, "broken")
	if err := os.WriteFile(broken, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*Config)
		flag   string
		says   string
	}{
		"no key file":         {func(c *Config) { c.AuthKeys = "no/such/file" }, "--auth-keys", "gateway keys new"},
		"a key file of none":  {func(c *Config) { c.AuthKeys = broken }, "--auth-keys", "gateway keys new"},
		"no certificate":      {func(c *Config) { c.AuthKeys, c.TLSCert, c.TLSKey = keys.Path, "no/such/file", key }, "--tls-cert", "no/such/file"},
		"the key of another":  {func(c *Config) { c.TLSCert, c.TLSKey = cert, others }, "--tls-cert", "--tls-key"},
		"a client CA of none": {func(c *Config) { c.TLSCert, c.TLSKey, c.ClientCA = cert, key, broken }, "--client-ca", "no certificate"},
	} {
		c := onFreePorts()
		test.change(&c)
		g, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		err = g.Start()
		var bad *ConfigError
		if !errors.As(err, &bad) || bad.Flag != test.flag || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMetricsShowFilesAndCertificates(t *testing.T) {
	keys, ca := authtest.New(t), certstest.New(t)
	pair := ca.Issue("localhost", time.Hour)
	c := onFreePorts()
	c.AuthKeys = keys.Path
	c.TLSCert, c.TLSKey = pair.Files(t.TempDir())
	g := start(t, c)
	defer closeNow(t, g)
	_, metrics := get(t, "http://"+g.OpsAddr().String()+"/metrics")
	for _, line := range []string{
		`gateway_file_reloads_total{files="auth-keys",outcome="failed"} 0`, `gateway_files_stale{files="outside-tls"} 0`, `gateway_files_stale{files="inside-tls"} 0`,
		`gateway_tls_certificate_expiry_timestamp_seconds{listener="outside"} 1.`, `gateway_refusals_total{listener="inside",reason="token-` + string(auth.Expired) + `"} 0`,
		`gateway_refusals_total{listener="outside",reason="token-of-another"} 0`,
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("no %s", line)
		}
	}
}

func TestWhoSpeaksNoTLSIsCountedAndGetsNoWord(t *testing.T) {
	c := onFreePorts()
	c.TLSCert, c.TLSKey = certstest.New(t).Issue("localhost", time.Hour).Files(t.TempDir())
	g := start(t, c)
	defer closeNow(t, g)
	for listener, address := range map[string]string{"inside": g.InsideAddr().String(), "outside": g.OutsideAddr().String()} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /requests HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(conn) // it may be reset
		if strings.Contains(string(said), "HTTP/") {
			t.Errorf("%s answered %q", listener, said)
		}
		line := `gateway_refusals_total{listener="` + listener + `",reason="tls"} 1`
		eventually(t, line, func() bool {
			_, metrics := get(t, "http://"+g.OpsAddr().String()+"/metrics")
			return strings.Contains(metrics, line)
		})
	}
}
