package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
)

// NewKey is a key that was made here, and is in no file yet.
type NewKey struct{ key *key }

// ID is the key's kid.
func (k NewKey) ID() string { return k.key.jwk.KeyID }

// MakeKey makes a key of one of the Algorithms. Without a kid it gets one at
// random.
func MakeKey(alg, kid string) (NewKey, error) {
	if kid == "" {
		kid = strings.ToLower(rand.Text()[:10])
	}
	secret, err := makeSecret(alg)
	if err != nil {
		return NewKey{}, err
	}
	k, err := newKey(jose.JSONWebKey{Key: secret, KeyID: kid, Algorithm: alg, Use: "sig"})
	return NewKey{k}, err
}

func makeSecret(alg string) (any, error) {
	switch alg {
	case "HS256":
		secret := make([]byte, minSecret)
		_, err := rand.Read(secret)
		return secret, err
	case "RS256":
		return rsa.GenerateKey(rand.Reader, 3072)
	case "ES256":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "EdDSA":
		_, private, err := ed25519.GenerateKey(rand.Reader)
		return private, err
	default:
		return nil, fmt.Errorf("the algorithm %q is none of %s", alg, strings.Join(Algorithms, ", "))
	}
}

// Claims is what a token is to say.
type Claims struct {
	Subject  string // a container's id, or AllContainers
	Audience Audience
	Issued   time.Time
	Expires  time.Time
}

// Sign makes a token with the key of that id. Without a kid it is the one that
// can sign, if there is but one.
func (s *KeySet) Sign(kid string, claims Claims) (string, error) {
	switch {
	case !claims.Audience.valid():
		return "", fmt.Errorf("the audience %q is neither inside nor outside", claims.Audience)
	case !subjectValid(claims.Subject, claims.Audience):
		return "", fmt.Errorf("%q is no container's id (1 to 128 of A-Z a-z 0-9 . _ - without a dot in front; * for all, outside only)", claims.Subject)
	case !claims.Expires.After(claims.Issued):
		return "", fmt.Errorf("the token would have ended before it began")
	}
	k, err := s.signer(kid)
	if err != nil {
		return "", err
	}
	token := jwt.NewWithClaims(k.method, jwt.MapClaims{
		"sub": claims.Subject,
		"aud": string(claims.Audience),
		"iat": claims.Issued.Unix(),
		"exp": claims.Expires.Unix(),
	})
	if k.jwk.KeyID != "" {
		token.Header["kid"] = k.jwk.KeyID
	}
	return token.SignedString(k.jwk.Key)
}

func (s *KeySet) signer(kid string) (*key, error) {
	if kid != "" {
		k := s.byID[kid]
		switch {
		case k == nil:
			return nil, fmt.Errorf("no key has the kid %q", kid)
		case !k.secret():
			return nil, fmt.Errorf("the key %q is public, and signs nothing", kid)
		}
		return k, nil
	}
	var only *key
	var ids []string
	for _, k := range s.keys {
		if k.secret() {
			only = k
			ids = append(ids, k.jwk.KeyID)
		}
	}
	switch len(ids) {
	case 0:
		return nil, fmt.Errorf("all keys are public, and sign nothing: use the file that gateway keys new made")
	case 1:
		return only, nil
	default:
		return nil, fmt.Errorf("several keys can sign: say which with a kid (--kid), one of %s", strings.Join(ids, ", "))
	}
}
