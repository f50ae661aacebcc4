package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	text string
}

func inPEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: rand.Text()}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert: cert, key: key, text: inPEM("CERTIFICATE", der)}
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// issued is a certificate and its key, in PEM.
type issued struct {
	name      string
	cert, key string
	notAfter  time.Time
}

func (i issued) loaded(t *testing.T) tls.Certificate {
	t.Helper()
	c, err := tls.X509KeyPair([]byte(i.cert), []byte(i.key))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (a *authority) issue(t *testing.T, name string, ends time.Duration) issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(ends).Truncate(time.Second),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return issued{name: name, cert: inPEM("CERTIFICATE", der), key: inPEM("PRIVATE KEY", private), notAfter: template.NotAfter}
}

// folder holds the files of a test.
type folder struct {
	t   *testing.T
	dir string
	log record
}

// record is a log that can be read while it is written.
type record struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func newFolder(t *testing.T) *folder { return &folder{t: t, dir: t.TempDir()} }

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

func (f *folder) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(f.path(name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) pair(i issued) {
	f.t.Helper()
	f.write("cert", i.cert)
	f.write("key", i.key)
}

func (f *folder) contents(names ...string) (contents [][]byte) {
	f.t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(f.path(name))
		if err != nil {
			f.t.Fatal(err)
		}
		contents = append(contents, text)
	}
	return contents
}

func (f *folder) open(ca string) *Files {
	f.t.Helper()
	paths := Paths{Cert: f.path("cert"), Key: f.path("key")}
	if ca != "" {
		paths.ClientCA = f.path(ca)
	}
	files, err := Open(paths, slog.New(slog.NewTextHandler(&f.log, nil)))
	if err != nil {
		f.t.Fatal(err)
	}
	return files
}
