// Package certs holds what a listener speaks TLS with, read from files, and read
// again when they change.
package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/diverge-network/gateway/internal/reload"
)

// Paths are the files of a listener, in PEM.
type Paths struct {
	Cert string // the certificate, and those between it and its root behind it
	Key  string // its private key

	// ClientCA, if it is not empty, has the certificates of which one must have
	// signed that of each client. Clients without a certificate are refused.
	ClientCA string
}

// Files are what a listener speaks TLS with, by now. The methods may be called
// from any goroutine.
type Files struct {
	paths Paths
	files *reload.Files
	now   atomic.Pointer[generation]
}

type generation struct {
	config   *tls.Config
	notAfter time.Time
}

// Open reads the files, and reads them again when they change until Close. Those
// that cannot be used, such as a key of another certificate, leave the old ones in
// use. The error names the file and what is wrong with it.
func Open(paths Paths, log *slog.Logger) (*Files, error) {
	f := &Files{paths: paths}
	names := []string{paths.Cert, paths.Key}
	if paths.ClientCA != "" {
		names = append(names, paths.ClientCA)
	}
	files, err := reload.Open(log, f.take, names...)
	if err != nil {
		return nil, err
	}
	f.files = files
	return f, nil
}

// Config is what to serve one connection with that begins now. It is not to be
// changed. Each state of the files has a config of its own, whose session tickets
// no other accepts: a client that resumes has been judged by the files as they
// are.
func (f *Files) Config() *tls.Config { return f.now.Load().config }

// NotAfter is when the first of the certificates that are sent expires.
func (f *Files) NotAfter() time.Time { return f.now.Load().notAfter }

// Stats says what became of the files' changes.
func (f *Files) Stats() reload.Stats { return f.files.Stats() }

// Close ends the watching of the files. What was read stays in use.
func (f *Files) Close() { f.files.Close() }

func (f *Files) take(contents [][]byte) error {
	pair, err := tls.X509KeyPair(contents[0], contents[1])
	if err != nil {
		return fmt.Errorf("%s and %s: %w", f.paths.Cert, f.paths.Key, err)
	}
	notAfter, err := firstEnd(pair)
	if err != nil {
		return fmt.Errorf("%s: %w", f.paths.Cert, err)
	}
	config := newConfig(pair)
	if f.paths.ClientCA != "" {
		if config.ClientCAs, err = pool(contents[2]); err != nil {
			return fmt.Errorf("%s: %w", f.paths.ClientCA, err)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	f.now.Store(&generation{config: config, notAfter: notAfter})
	return nil
}

func newConfig(pair tls.Certificate) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		// Of TLS 1.2 only what has forward secrecy and authenticates what it
		// encrypts; 1.3 has nothing else.
		CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
			tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		NextProtos: []string{"http/1.1"},
		// A record as large as it may be is one system call.
		DynamicRecordSizingDisabled: true,
	}
}

func firstEnd(pair tls.Certificate) (time.Time, error) {
	var first time.Time
	for _, der := range pair.Certificate {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return time.Time{}, err
		}
		if first.IsZero() || c.NotAfter.Before(first) {
			first = c.NotAfter
		}
	}
	return first, nil
}

// pool holds every certificate of a PEM file. Unlike AppendCertsFromPEM it passes
// over nothing that it cannot read.
func pool(text []byte) (*x509.CertPool, error) {
	p := x509.NewCertPool()
	begun, read := bytes.Count(text, []byte("-----BEGIN ")), 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it holds a %s, where only certificates belong", block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		p.AddCert(c)
		read++
	}
	switch {
	case read == 0:
		return nil, errors.New("no certificate in it, in PEM")
	case read != begun:
		return nil, errors.New("a part of the PEM in it is malformed, or ends early")
	}
	return p, nil
}
