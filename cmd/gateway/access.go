package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// accessFlags are what answer shows the gateway, and what it wants to be shown.
type accessFlags struct {
	Token     string `help:"Token for the gateway, as gateway token --audience outside prints. Who lists processes sees it: prefer --token-file." env:"GATEWAY_TOKEN" placeholder:"TOKEN" group:"Access"`
	TokenFile string `help:"File of the token. It is read again as connections are made, so that the token can be replaced." env:"GATEWAY_TOKEN_FILE" placeholder:"FILE" group:"Access"`

	CA         string `name:"ca" help:"File of the CAs (PEM) that the gateway's certificate may be signed by, in place of the system's. It is read again as connections are made." env:"GATEWAY_CA" placeholder:"FILE" group:"Access"`
	ClientCert string `help:"File of the certificate (PEM) that is shown to a gateway with --client-ca. It is read again as connections are made." env:"GATEWAY_CLIENT_CERT" placeholder:"FILE" group:"Access"`
	ClientKey  string `help:"File of its private key (PEM)." env:"GATEWAY_CLIENT_KEY" placeholder:"FILE" group:"Access"`
}

// bearer is a source of tokens, as answer.Server has it.
type bearer func(context.Context) (string, error)

// bearer is nil without a token.
func (a *accessFlags) bearer() (bearer, error) {
	switch {
	case a.Token != "" && a.TokenFile != "":
		return nil, errors.New("--token and --token-file exclude each other: choose one")
	case a.Token != "":
		token, err := cleanToken(a.Token)
		if err != nil {
			return nil, fmt.Errorf("--token: %w", err)
		}
		return func(context.Context) (string, error) { return token, nil }, nil
	case a.TokenFile != "":
		f := &tokenFile{path: a.TokenFile}
		if _, err := f.token(context.Background()); err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
		return f.token, nil
	default:
		return nil, nil
	}
}

// tokenFresh is for how long a token that was read is not read again: answers come by the thousand, each with a
// connection of its own.
const tokenFresh = time.Second

// tokenFile is a file whose content may change.
type tokenFile struct {
	path string

	mu   sync.Mutex
	text string
	read time.Time
}

func (f *tokenFile) token(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.text != "" && time.Since(f.read) < tokenFresh {
		return f.text, nil
	}
	content, err := os.ReadFile(f.path)
	if err != nil {
		return "", err
	}
	text, err := cleanToken(string(content))
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.path, err)
	}
	f.text, f.read = text, time.Now()
	return text, nil
}

// cleanToken is a token without the line end of a file; the error holds nothing of it.
func cleanToken(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", errors.New("it holds no token: gateway token --audience outside prints one")
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("it holds something else than one token: gateway token --audience outside prints one")
	}
	return text, nil
}

// tls is what wss is spoken with; url is the gateway's.
func (a *accessFlags) tls(url string) (*tls.Config, error) {
	if !strings.HasPrefix(url, "wss:") {
		for flag, value := range map[string]string{"--ca": a.CA, "--client-cert": a.ClientCert, "--client-key": a.ClientKey} {
			if value != "" {
				return nil, fmt.Errorf("%s: %q is for TLS: give --gateway a wss:// URL", flag, value)
			}
		}
		return nil, nil
	}
	// A connection is opened for each answer: sessions are resumed.
	config := &tls.Config{MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	if a.CA != "" {
		if err := trustFile(config, a.CA, url); err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
	}
	switch {
	case a.ClientCert == "" && a.ClientKey == "":
		return config, nil
	case a.ClientKey == "":
		return nil, fmt.Errorf("--client-cert: %q has no private key: name its file with --client-key", a.ClientCert)
	case a.ClientCert == "":
		return nil, fmt.Errorf("--client-key: %q has no certificate: name its file with --client-cert", a.ClientKey)
	}
	if _, err := tls.LoadX509KeyPair(a.ClientCert, a.ClientKey); err != nil {
		return nil, fmt.Errorf("--client-cert: %w", err)
	}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(a.ClientCert, a.ClientKey)
		return &pair, err
	}
	return config, nil
}
