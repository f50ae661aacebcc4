// Package certstest issues certificates for the tests of what speaks TLS.
package certstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority issues certificates.
type Authority struct {
	TB   testing.TB
	Text string // its certificate, in PEM
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func inPEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// New makes an authority that nobody else trusts.
func New(tb testing.TB) *Authority {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: rand.Text()}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return &Authority{TB: tb, cert: cert, key: key, Text: inPEM("CERTIFICATE", der)}
}

// Pool trusts the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// File is a file of the authority's certificate.
func (a *Authority) File() string {
	a.TB.Helper()
	return write(a.TB, filepath.Join(a.TB.TempDir(), "ca.pem"), a.Text)
}

// Pair is a certificate and its key, in PEM.
type Pair struct {
	TB        testing.TB
	Name      string
	Cert, Key string
	NotAfter  time.Time
}

// Issue makes a certificate of that name, and of loopback, for servers and clients.
func (a *Authority) Issue(name string, ends time.Duration) Pair {
	a.TB.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.TB.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(ends).Truncate(time.Second),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		a.TB.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.TB.Fatal(err)
	}
	return Pair{TB: a.TB, Name: name, Cert: inPEM("CERTIFICATE", der), Key: inPEM("PRIVATE KEY", private), NotAfter: template.NotAfter}
}

// Loaded is the pair as crypto/tls has it.
func (p Pair) Loaded() tls.Certificate {
	p.TB.Helper()
	c, err := tls.X509KeyPair([]byte(p.Cert), []byte(p.Key))
	if err != nil {
		p.TB.Fatal(err)
	}
	return c
}

// Files writes the pair to two files of a folder.
func (p Pair) Files(folder string) (cert, key string) {
	p.TB.Helper()
	return write(p.TB, filepath.Join(folder, "cert.pem"), p.Cert), write(p.TB, filepath.Join(folder, "key.pem"), p.Key)
}

func write(tb testing.TB, path, text string) string {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}
