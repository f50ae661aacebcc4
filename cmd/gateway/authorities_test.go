package main

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/certs/certstest"
)

// handshake is what a client that trusts by config makes of a server with that pair, whose address it was given.
func handshake(t *testing.T, config *tls.Config, pair certstest.Pair) error {
	t.Helper()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair.Loaded()}})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		if conn, err := ln.Accept(); err == nil {
			_ = conn.(*tls.Conn).Handshake()
			_ = conn.Close()
		}
	}()
	defer func() { <-served }()
	client := config.Clone()
	client.ServerName, _, _ = net.SplitHostPort(ln.Addr().String()) // as a dialer does
	conn, err := tls.Dial("tcp", ln.Addr().String(), client)
	if err == nil {
		_ = conn.Close()
	}
	return err
}

func TestTheCAsOfTheGatewayAreReadAgain(t *testing.T) {
	first, second := certstest.New(t), certstest.New(t)
	path := first.File()
	config := new(tls.Config)
	if err := trustFile(config, path, "wss://127.0.0.1:14979"); err != nil {
		t.Fatal(err)
	}
	if err := handshake(t, config, first.Issue("gateway", time.Hour)); err != nil {
		t.Errorf("a certificate of the CA: %v", err)
	}
	if err := handshake(t, config, second.Issue("gateway", time.Hour)); err == nil {
		t.Error("a certificate of another CA was taken")
	}
	if err := handshake(t, config, first.Issue("gateway", -time.Minute)); err == nil {
		t.Error("a certificate that has expired was taken")
	}

	f := &authorities{path: path}
	verify := func(by *certstest.Authority, host string) error {
		leaf, err := x509.ParseCertificate(by.Issue("gateway", time.Hour).Loaded().Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		f.read = time.Time{} // a second has passed
		return f.verify([]*x509.Certificate{leaf}, host)
	}
	for _, host := range []string{"gateway", "127.0.0.1"} {
		if err := verify(first, host); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, host := range []string{"other", "127.0.0.2", ""} {
		if err := verify(first, host); err == nil {
			t.Errorf("%q: taken for another's name", host)
		}
	}
	if err := os.WriteFile(path, []byte("half of a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := verify(first, "gateway"); err != nil {
		t.Errorf("while the file cannot be read: %v", err)
	}
	if err := os.WriteFile(path, []byte(second.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := verify(second, "gateway"); err != nil {
		t.Errorf("the new CA: %v", err)
	}
	if err := verify(first, "gateway"); err == nil {
		t.Error("the old CA is trusted still")
	}
	if err := f.verify(nil, "gateway"); err == nil {
		t.Error("no certificate was taken")
	}
}
