package inside

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/auth"
)

// keyring signs tokens, and verifies them for a world.
type keyring struct {
	t     testing.TB
	set   *auth.KeySet
	keys  *auth.Keys
	clock *clock
}

// newKeyring is a keyring of a world whose tokens are judged by its clock.
func newKeyring(t testing.TB) *keyring {
	t.Helper()
	k := &keyring{t: t, set: newKeySet(t), clock: newClock()}
	path := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(path, k.set.Text(), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := auth.Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(keys.Close)
	k.keys = keys
	return k
}

func newKeySet(t testing.TB) *auth.KeySet {
	t.Helper()
	key, err := auth.MakeKey("EdDSA", "k1")
	if err != nil {
		t.Fatal(err)
	}
	set, err := auth.NewKeySet(key)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// tokenTime is how long a token is good.
const tokenTime = time.Hour

// sign makes a token that is good from now on.
func (k *keyring) sign(set *auth.KeySet, subject string, audience auth.Audience, from time.Time) string {
	k.t.Helper()
	token, err := set.Sign("", auth.Claims{Subject: subject, Audience: audience, Issued: from, Expires: from.Add(tokenTime)})
	if err != nil {
		k.t.Fatal(err)
	}
	return token
}

// of is a good token of a container's client.
func (k *keyring) of(container string) string {
	return k.sign(k.set, container, auth.Inside, k.clock.Now())
}

// asks has a world ask for tokens.
func (k *keyring) asks(o *options) { o.keys = k }

// bearing is a request's token.
func bearing(token string) func(*http.Request) {
	return func(r *http.Request) {
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
	}
}

// expired has all tokens that were made until now have expired.
func (k *keyring) expired() { k.clock.pass(tokenTime + auth.Leeway) }
