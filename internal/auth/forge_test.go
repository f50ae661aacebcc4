package auth

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is when tokens of the tests are judged.
var noon = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)

// theRSAKey is the only one of its kind in most tests: making one takes long.
var theRSAKey = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, minModulus)
	if err != nil {
		panic(err)
	}
	return k
})

func made(alg, kid string) (NewKey, error) {
	if alg != "RS256" {
		return MakeKey(alg, kid)
	}
	k, err := newKey(jose.JSONWebKey{Key: theRSAKey(), KeyID: kid, Algorithm: alg})
	return NewKey{k}, err
}

// set makes a set of new keys; their ids are their algorithms.
func set(t testing.TB, algs ...string) *KeySet {
	t.Helper()
	var s *KeySet
	for _, alg := range algs {
		k, err := made(alg, alg)
		if err != nil {
			t.Fatal(err)
		}
		if s == nil {
			s, err = NewKeySet(k)
		} else {
			err = s.Add(k)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// opened are keys of a file with that set, and no log.
func opened(t testing.TB, s *KeySet) *Keys {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(path, s.Text(), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// minted is a token for a container inside, good for an hour after noon.
func minted(t testing.TB, s *KeySet, kid, subject string, audience Audience) string {
	t.Helper()
	token, err := s.Sign(kid, Claims{Subject: subject, Audience: audience, Issued: noon, Expires: noon.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func b64(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// signed is a token of any head and claims, signed rightly by a key of the set.
func signed(t testing.TB, s *KeySet, kid, head, claims string) string {
	t.Helper()
	return signedRaw(t, s, kid, b64(head)+"."+b64(claims))
}

func signedRaw(t testing.TB, s *KeySet, kid, text string) string {
	t.Helper()
	k := s.byID[kid]
	sum, err := k.method.Sign(text, k.jwk.Key)
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sum)
}

// hs256 is a token signed with a secret of the attacker's choice.
func hs256(head, claims string, secret []byte) string {
	text := b64(head) + "." + b64(claims)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// claimsWith are good claims with one member replaced, or left out where the text
// is empty.
func claimsWith(name, text string) string {
	members := map[string]string{"sub": `"a1"`, "aud": `"inside"`, "exp": fmt.Sprint(noon.Add(time.Hour).Unix())}
	members[name] = text
	var parts []string
	for _, name := range []string{"sub", "aud", "exp", "nbf", "iss"} {
		if text := members[name]; text != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", name, text))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

var goodClaims = claimsWith("iss", `"a test"`)

func head(alg string) string { return fmt.Sprintf(`{"alg":%q,"kid":%q,"typ":"JWT"}`, alg, alg) }

func refused(t *testing.T, k *Keys, name, token string, audience Audience, want Refusal) {
	t.Helper()
	for range 2 { // what was refused is not remembered otherwise
		got, err := k.Verify([]byte(token), audience, noon)
		if err != want || got != (Identity{}) {
			t.Errorf("%s: %v, %+v; want %v", name, err, got, want)
		}
	}
}

// rs512 signs as RS512 with the set's RSA key.
func rs512(t testing.TB, s *KeySet, text string) string {
	t.Helper()
	sum, err := jwt.SigningMethodRS512.Sign(text, s.byID["RS256"].jwk.Key)
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sum)
}

// ps256 signs as PS256 with the set's RSA key.
func ps256(t testing.TB, s *KeySet, text string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPSS(rand.Reader, s.byID["RS256"].jwk.Key.(*rsa.PrivateKey), crypto.SHA256, sum[:], nil)
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}
