package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"time"
)

// trustFile has config trust the CAs of a file, as it is when a connection is made, for the host of a URL. crypto/tls would
// hold on to those that it was given first: it leaves the verification to us.
func trustFile(config *tls.Config, path, gateway string) error {
	to, err := url.Parse(gateway)
	if err != nil {
		return err
	}
	f := &authorities{path: path}
	if _, err := f.current(); err != nil {
		return err
	}
	config.InsecureSkipVerify = true
	config.VerifyConnection = func(state tls.ConnectionState) error { return f.verify(state.PeerCertificates, to.Hostname()) }
	return nil
}

// authorities are the CAs of a file whose content may change.
type authorities struct {
	path string

	mu   sync.Mutex
	pool *x509.CertPool
	read time.Time
}

// current is the file's CAs; those that it held before while it cannot be read.
func (f *authorities) current() (*x509.CertPool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pool != nil && time.Since(f.read) < tokenFresh {
		return f.pool, nil
	}
	text, err := os.ReadFile(f.path)
	pool := x509.NewCertPool()
	if err == nil && !pool.AppendCertsFromPEM(text) {
		err = fmt.Errorf("%q holds no certificate in PEM", f.path)
	}
	switch {
	case err == nil:
		f.pool, f.read = pool, time.Now()
	case f.pool == nil:
		return nil, err
	}
	return f.pool, nil
}

// verify does what crypto/tls would have done. The name is the caller's: a connection to an address does not state one.
func (f *authorities) verify(chain []*x509.Certificate, host string) error {
	roots, err := f.current()
	if err != nil {
		return err
	}
	if len(chain) == 0 || host == "" { // which x509 would take for any name
		return errors.New("the gateway has shown no certificate, or has no name")
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	if _, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: host}); err != nil {
		return fmt.Errorf("the gateway's certificate is not good by %s: %w", f.path, err)
	}
	return nil
}
