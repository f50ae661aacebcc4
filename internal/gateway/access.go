package gateway

import (
	"crypto/tls"
	"time"

	"github.com/diverge-network/gateway/internal/auth"
	"github.com/diverge-network/gateway/internal/certs"
	"github.com/diverge-network/gateway/internal/inside"
	"github.com/diverge-network/gateway/internal/ops"
	"github.com/diverge-network/gateway/internal/outside"
)

// protected says that whoever reaches the listeners has to say who it is, or that the risk is accepted.
func (c *Config) protected() bool { return c.AuthKeys != "" || c.Insecure }

// validateAccess judges which of the settings of tokens and TLS go together.
func (c *Config) validateAccess() error {
	switch {
	case c.TLSCert != "" && c.TLSKey == "":
		return &ConfigError{Flag: "--tls-cert", Value: c.TLSCert, Problem: "has no private key: name its file with --tls-key"}
	case c.TLSKey != "" && c.TLSCert == "":
		return &ConfigError{Flag: "--tls-key", Value: c.TLSKey, Problem: "has no certificate: name its file with --tls-cert"}
	case c.ClientCA != "" && c.TLSCert == "":
		return &ConfigError{Flag: "--client-ca", Value: c.ClientCA, Problem: "is for TLS, which is not spoken: add --tls-cert and --tls-key"}
	}
	return nil
}

// access is what the listeners judge their peers by, read from files that are watched.
type access struct {
	keys    *auth.Keys   // nil: nobody is asked for a token
	inside  *certs.Files // nil: no TLS is spoken
	outside *certs.Files
}

// open reads the files. What it opened it has closed when it fails.
func (a *access) open(g *Gateway) (err error) {
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	c := &g.config
	if c.AuthKeys != "" {
		if a.keys, err = auth.Open(c.AuthKeys, g.log); err != nil {
			return &ConfigError{Flag: "--auth-keys", Value: c.AuthKeys, Problem: "cannot be used (gateway keys new makes a key file)", Err: err}
		}
	}
	if c.TLSCert == "" {
		return nil
	}
	paths := certs.Paths{Cert: c.TLSCert, Key: c.TLSKey}
	if a.inside, err = certs.Open(paths, g.log); err != nil {
		return &ConfigError{Flag: "--tls-cert", Value: c.TLSCert, Problem: "and --tls-key cannot be used", Err: err}
	}
	paths.ClientCA = c.ClientCA
	if a.outside, err = certs.Open(paths, g.log); err != nil {
		return &ConfigError{Flag: "--client-ca", Value: c.ClientCA, Problem: "cannot be used", Err: err}
	}
	return nil
}

// close ends the watching of the files.
func (a *access) close() {
	if a.keys != nil {
		a.keys.Close()
	}
	for _, files := range []*certs.Files{a.inside, a.outside} {
		if files != nil {
			files.Close()
		}
	}
}

// speaking is what a listener speaks TLS with: nil for plain.
func speaking(files *certs.Files) func() *tls.Config {
	if files == nil {
		return nil
	}
	return files.Config
}

// watched are the files as metrics show them.
func (a *access) watched() (all []ops.Files) {
	if a.keys != nil {
		all = append(all, ops.Files{Name: "auth-keys", Stats: a.keys.Stats})
	}
	if a.inside != nil {
		all = append(all, ops.Files{Name: "inside-tls", Stats: a.inside.Stats}, ops.Files{Name: "outside-tls", Stats: a.outside.Stats})
	}
	return all
}

// certificates are when those of the listeners expire.
func (a *access) certificates() map[string]func() time.Time {
	if a.inside == nil {
		return nil
	}
	return map[string]func() time.Time{inside.Listener: a.inside.NotAfter, outside.Listener: a.outside.NotAfter}
}
