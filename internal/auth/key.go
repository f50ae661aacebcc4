package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"
)

// Algorithms are the names of what can sign a token.
var Algorithms = []string{"EdDSA", "ES256", "RS256", "HS256"}

// What a key must have at least. An RSA key of more than 4096 bits is not read.
const (
	minSecret  = 32   // bytes
	minModulus = 2048 // bits
)

// key is one key of a set.
type key struct {
	jwk    jose.JSONWebKey
	method jwt.SigningMethod // the key's, whatever a token says
	public any               // what method verifies with
}

// secret reports whether the key can sign.
func (k *key) secret() bool { return !k.jwk.IsPublic() }

// parseKey reads a JWK. If it is for something else, other says what.
func parseKey(text jsontext.Value) (k *key, other string, err error) {
	var is struct {
		Kid string   `json:"kid"`
		Kty string   `json:"kty"`
		Crv string   `json:"crv"`
		Alg string   `json:"alg"`
		Use string   `json:"use"`
		Ops []string `json:"key_ops"`
	}
	if err := json.Unmarshal(text, &is); err != nil {
		return nil, "", fmt.Errorf("not a JWK: %w", reason(err))
	}
	alg := algorithm(is.Kty, is.Crv)
	switch {
	case alg == "":
		return nil, fmt.Sprintf("kid %q has kty %q and crv %q", is.Kid, is.Kty, is.Crv), nil
	case is.Alg != "" && is.Alg != alg:
		return nil, fmt.Sprintf("kid %q is for alg %q", is.Kid, is.Alg), nil
	case is.Use != "" && is.Use != "sig":
		return nil, fmt.Sprintf("kid %q is for use %q", is.Kid, is.Use), nil
	case is.Ops != nil && !slices.Contains(is.Ops, "verify") && !slices.Contains(is.Ops, "sign"):
		return nil, fmt.Sprintf("kid %q has key_ops without sign and verify", is.Kid), nil
	}
	var jwk jose.JSONWebKey
	if err := jwk.UnmarshalJSON(text); err != nil {
		return nil, "", fmt.Errorf("kid %q: %w", is.Kid, err)
	}
	jwk.Algorithm = alg
	k, err = newKey(jwk)
	if err != nil {
		return nil, "", fmt.Errorf("kid %q: %w", is.Kid, err)
	}
	return k, "", nil
}

// algorithm is what keys of a type are for here.
func algorithm(kty, crv string) string {
	switch {
	case kty == "oct":
		return "HS256"
	case kty == "RSA":
		return "RS256"
	case kty == "EC" && crv == "P-256":
		return "ES256"
	case kty == "OKP" && crv == "Ed25519":
		return "EdDSA"
	default:
		return ""
	}
}

// newKey judges the strength of a key, and binds its algorithm to it.
func newKey(jwk jose.JSONWebKey) (*key, error) {
	k := &key{jwk: jwk, public: jwk.Key}
	if public := jwk.Public(); public.Key != nil {
		k.public = public.Key
	}
	switch public := k.public.(type) {
	case []byte:
		if len(public) < minSecret {
			return nil, fmt.Errorf("a secret for HS256 of %d bytes: %d or more are needed", len(public), minSecret)
		}
		k.method = jwt.SigningMethodHS256
	case *rsa.PublicKey:
		if bits := public.N.BitLen(); bits < minModulus {
			return nil, fmt.Errorf("an RSA key of %d bits: %d or more are needed", bits, minModulus)
		}
		if public.E < 3 || public.E%2 == 0 || public.N.Bit(0) == 0 {
			return nil, errors.New("an RSA key whose exponent or modulus protects nothing")
		}
		k.method = jwt.SigningMethodRS256
	case *ecdsa.PublicKey:
		if private, ok := jwk.Key.(*ecdsa.PrivateKey); ok && !ownPublic(private) {
			return nil, errors.New("an EC key whose x and y do not belong to its d")
		}
		k.method = jwt.SigningMethodES256
	case ed25519.PublicKey:
		k.method = jwt.SigningMethodEdDSA
	default:
		return nil, fmt.Errorf("a key of type %T", public)
	}
	return k, nil
}

// ownPublic reports whether the public half is that of the private one.
func ownPublic(private *ecdsa.PrivateKey) bool {
	d, err := private.Bytes()
	if err != nil {
		return false
	}
	own, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), d)
	return err == nil && own.PublicKey.Equal(&private.PublicKey)
}
