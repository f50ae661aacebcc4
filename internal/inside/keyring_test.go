package inside

import (
	"net/http"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/auth"
	"github.com/diverge-network/gateway/internal/auth/authtest"
)

// keyring makes the tokens of a world, which judges them by its clock.
type keyring struct {
	*authtest.Keyring
	clock *clock
}

func newKeyring(t testing.TB) *keyring { return &keyring{authtest.New(t), newClock()} }

// asks has a world ask for tokens.
func (k *keyring) asks(o *options) { o.keys = k }

// of is a good token of a container's client.
func (k *keyring) of(container string) string {
	return k.Token(container, auth.Inside, k.clock.Now())
}

// expire has all tokens expire that were made until now.
func (k *keyring) expire() { k.clock.pass(authtest.TokenTime + auth.Leeway) }

// ended is when a token must have begun that has expired just now.
func (k *keyring) ended() time.Time {
	return k.clock.Now().Add(-authtest.TokenTime - auth.Leeway)
}

// bearing is a request's token.
func bearing(token string) func(*http.Request) {
	return func(r *http.Request) {
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
	}
}
