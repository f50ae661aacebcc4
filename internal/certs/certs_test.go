package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/diverge-network/gateway/internal/certs/certstest"
	"github.com/diverge-network/gateway/internal/reload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve answers one connection on loopback with a byte, by what the files are now.
func serve(t *testing.T, f *Files) (address string, served <-chan error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		defer ln.Close()
		nc, err := ln.Accept()
		if err != nil {
			ended <- err
			return
		}
		conn := tls.Server(nc, f.Config())
		defer conn.Close()
		_, err = conn.Write([]byte("x"))
		io.Copy(io.Discard, conn)
		ended <- err
	}()
	return ln.Addr().String(), ended
}

// visit makes one connection, and returns what it came to.
func visit(t *testing.T, f *Files, client *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	address, served := serve(t, f)
	conn, err := tls.Dial("tcp", address, client)
	if err != nil {
		<-served
		return tls.ConnectionState{}, err
	}
	_, err = io.ReadFull(conn, make([]byte, 1))
	state := conn.ConnectionState()
	conn.Close()
	if failed := <-served; err == nil {
		err = failed
	}
	return state, err
}

func TestTheListenerSpeaksWhatIsSafeAndHTTP1(t *testing.T) {
	ca := certstest.New(t)
	dir := newFolder(t)
	dir.pair(ca.Issue("localhost", time.Hour))
	f := dir.open("")
	defer f.Close()
	trusting := func() *tls.Config { return &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"} }

	state, err := visit(t, f, trusting())
	if err != nil || state.Version != tls.VersionTLS13 {
		t.Errorf("%x, %v", state.Version, err)
	}
	old := trusting()
	old.MaxVersion = tls.VersionTLS12
	if state, err := visit(t, f, old); err != nil || state.Version != tls.VersionTLS12 {
		t.Errorf("TLS 1.2: %x, %v", state.Version, err)
	}
	h2 := trusting()
	h2.NextProtos = []string{"h2", "http/1.1"}
	if state, err := visit(t, f, h2); err != nil || state.NegotiatedProtocol != "http/1.1" {
		t.Errorf("ALPN: %q, %v", state.NegotiatedProtocol, err)
	}
	for name, change := range map[string]func(*tls.Config){
		"TLS 1.1": func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 },
		"h2 only": func(c *tls.Config) { c.NextProtos = []string{"h2"} },
		"CBC": func(c *tls.Config) {
			c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}
		},
		"another name":             func(c *tls.Config) { c.ServerName = "example.com" },
		"who does not know our CA": func(c *tls.Config) { c.RootCAs = x509.NewCertPool() },
	} {
		c := trusting()
		change(c)
		if _, err := visit(t, f, c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, suite := range f.Config().CipherSuites {
		if slices.ContainsFunc(tls.InsecureCipherSuites(), func(s *tls.CipherSuite) bool { return s.ID == suite }) {
			t.Errorf("%s is insecure", tls.CipherSuiteName(suite))
		}
	}
}

func TestClientsNeedACertificateOfTheCA(t *testing.T) {
	ca, clients, others := certstest.New(t), certstest.New(t), certstest.New(t)
	dir := newFolder(t)
	dir.pair(ca.Issue("localhost", time.Hour))
	dir.write("ca", clients.Text)
	f := dir.open("ca")
	defer f.Close()
	with := func(certificates ...tls.Certificate) *tls.Config {
		return &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost", Certificates: certificates}
	}
	good := clients.Issue("server", time.Hour)
	if state, err := visit(t, f, with(good.Loaded())); err != nil || len(state.PeerCertificates) == 0 {
		t.Error(err)
	}
	expired, foreign := clients.Issue("server", -time.Minute), others.Issue("server", time.Hour)
	for name, certificates := range map[string][]tls.Certificate{
		"none": nil, "another CA's": {foreign.Loaded()}, "expired": {expired.Loaded()},
	} {
		if _, err := visit(t, f, with(certificates...)); err == nil {
			t.Errorf("a client with a certificate that is %s was let in", name)
		}
	}
}

// TestATicketIsGoodOnlyForTheFilesItWasMadeUnder: a client that the old CA let in
// does not get past the new one by resuming.
func TestATicketIsGoodOnlyForTheFilesItWasMadeUnder(t *testing.T) {
	ca, before, after := certstest.New(t), certstest.New(t), certstest.New(t)
	dir := newFolder(t)
	dir.pair(ca.Issue("localhost", time.Hour))
	dir.write("ca", before.Text)
	f := dir.open("ca")
	defer f.Close()
	certificate := before.Issue("server", time.Hour)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		dir.write("ca", before.Text)
		if err := f.take(dir.contents("cert", "key", "ca")); err != nil {
			t.Fatal(err)
		}
		client := &tls.Config{
			RootCAs: ca.Pool(), ServerName: "localhost", Certificates: []tls.Certificate{certificate.Loaded()},
			ClientSessionCache: tls.NewLRUClientSessionCache(8), MaxVersion: version,
		}
		for i, resumes := range []bool{false, true} {
			if state, err := visit(t, f, client); err != nil || state.DidResume != resumes {
				t.Errorf("%x, visit %d: resumed %v, %v", version, i, state.DidResume, err)
			}
		}
		dir.write("ca", after.Text)
		if err := f.take(dir.contents("cert", "key", "ca")); err != nil {
			t.Fatal(err)
		}
		if _, err := visit(t, f, client); err == nil {
			t.Errorf("%x: a client of the CA before was let in", version)
		}
	}
}

func TestANewPairIsServedAndABrokenOneIsNot(t *testing.T) {
	ca := certstest.New(t)
	first, second := ca.Issue("first", time.Hour), ca.Issue("second", 2*time.Hour)
	dir := newFolder(t)
	synctest.Test(t, func(t *testing.T) {
		dir.pair(first)
		f := dir.open("")
		defer f.Close()
		settle := func() { time.Sleep(3 * reload.Interval); synctest.Wait() }
		serves := func(want certstest.Pair) {
			t.Helper()
			if got := f.Config().Certificates[0].Leaf.Subject.CommonName; got != want.Name {
				t.Errorf("serves %s, want %s", got, want.Name)
			}
			if !f.NotAfter().Equal(want.NotAfter) {
				t.Errorf("expires %v, want %v", f.NotAfter(), want.NotAfter)
			}
		}
		serves(first)
		dir.write("cert", second.Cert)
		settle()
		settle()
		serves(first) // the certificate does not belong to the key
		if got := f.Stats(); got != (reload.Stats{Failed: 1, Stale: true}) {
			t.Errorf("%+v", got)
		}
		dir.write("key", second.Key)
		settle()
		serves(second)
		for _, broken := range []string{"", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", second.Cert[:len(second.Cert)/2]} {
			dir.write("cert", broken)
			settle()
			serves(second)
		}
		if err := os.Remove(dir.path("cert")); err != nil {
			t.Fatal(err)
		}
		settle()
		serves(second)
		if got := f.Stats(); got != (reload.Stats{Taken: 1, Failed: 5, Stale: true}) {
			t.Errorf("%+v", got)
		}
		if strings.Contains(dir.log.String(), "PRIVATE") {
			t.Errorf("the log holds a key:\n%s", dir.log.String())
		}
	})
}

func TestOpenSaysWhichFileIsWrong(t *testing.T) {
	ca := certstest.New(t)
	one, two := ca.Issue("one", time.Hour), ca.Issue("two", time.Hour)
	dir := newFolder(t)
	dir.pair(one)
	dir.write("other", two.Key)
	dir.write("empty", "")
	dir.write("ca", ca.Text)
	dir.write("cut", ca.Text+ca.Text[:len(ca.Text)-30])
	dir.write("cut amid", ca.Text[:len(ca.Text)-30]+"\n"+ca.Text)
	dir.write("keyed", ca.Text+one.Key)
	dir.write("unreadable", ca.Text+"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	for _, c := range []struct{ cert, key, ca, says string }{
		{"none", "key", "", "none"}, {"cert", "none", "", "none"}, {"cert", "other", "", "other"}, {"empty", "key", "", "empty"},
		{"key", "cert", "", "key"}, {"cert", "key", "empty", "no certificate"}, {"cert", "key", "none", "none"},
		{"cert", "key", "cut", "ends early"}, {"cert", "key", "cut amid", "cut amid"}, {"cert", "key", "keyed", "PRIVATE KEY"}, {"cert", "key", "unreadable", "unreadable"},
	} {
		paths := Paths{Cert: dir.path(c.cert), Key: dir.path(c.key)}
		if c.ca != "" {
			paths.ClientCA = dir.path(c.ca)
		}
		f, err := Open(paths, slog.New(slog.DiscardHandler))
		if err == nil {
			f.Close()
			err = errors.New("nothing")
		}
		if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), dir.dir) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
