// Package authtest makes keys and tokens for the tests of what asks for them.
package authtest

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/auth"
)

// TokenTime is how long a token is good.
const TokenTime = time.Hour

// Keyring has a key of its own, in a file.
type Keyring struct {
	TB   testing.TB
	Path string // of the file
	set  *auth.KeySet
}

// New makes a key and writes its file.
func New(tb testing.TB) *Keyring {
	tb.Helper()
	k := &Keyring{TB: tb, Path: filepath.Join(tb.TempDir(), "keys.json")}
	k.Replace()
	return k
}

// Replace puts a new key into the place of the one there was, under the same kid.
func (k *Keyring) Replace() {
	k.TB.Helper()
	key, err := auth.MakeKey("EdDSA", "k1")
	if err != nil {
		k.TB.Fatal(err)
	}
	if k.set, err = auth.NewKeySet(key); err != nil {
		k.TB.Fatal(err)
	}
	if err := os.WriteFile(k.Path, k.set.Text(), 0o600); err != nil {
		k.TB.Fatal(err)
	}
}

// Open opens the file, as a listener has it, until the test ends.
func (k *Keyring) Open() *auth.Keys {
	k.TB.Helper()
	keys, err := auth.Open(k.Path, slog.New(slog.DiscardHandler))
	if err != nil {
		k.TB.Fatal(err)
	}
	k.TB.Cleanup(keys.Close)
	return keys
}

// Token makes a token that is good for TokenTime from then on.
func (k *Keyring) Token(subject string, audience auth.Audience, from time.Time) string {
	k.TB.Helper()
	token, err := k.set.Sign("", auth.Claims{Subject: subject, Audience: audience, Issued: from, Expires: from.Add(TokenTime)})
	if err != nil {
		k.TB.Fatal(err)
	}
	return token
}
