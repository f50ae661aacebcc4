package auth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// member is a key as it is in a file, with more members.
func member(t testing.TB, key any, kid, more string) string {
	t.Helper()
	text, err := jose.JSONWebKey{Key: key, KeyID: kid}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(text), "}") + more + "}"
}

func jwks(members ...string) []byte { return []byte(`{"keys":[` + strings.Join(members, ",") + `]}`) }

func TestAKeySetIsJudgedWhole(t *testing.T) {
	secret := bytes.Repeat([]byte("s"), minSecret)
	strong := theRSAKey()
	weak := rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), minModulus-2, 1), E: 65537}
	one := strong.PublicKey
	one.E = 1
	curve, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	other, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	mixed := *curve
	mixed.PublicKey = other.PublicKey
	huge := rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), 4096, 1), E: 65537}
	good := member(t, secret, "good", "")
	for name, c := range map[string]struct {
		text []byte
		says string
	}{
		"nothing":                {nil, "not a JWKS"},
		"null":                   {[]byte("null"), "no key in it"},
		"PEM":                    {[]byte("-----BEGIN PUBLIC KEY-----"), "not a JWKS"},
		"one key":                {[]byte(good), "no key in it"},
		"no keys":                {jwks(), "no key in it"},
		"keys of another type":   {[]byte(`{"keys":{}}`), "another type"},
		"two sets":               {append(jwks(good), jwks(good)...), "malformed"},
		"keys twice":             {[]byte(`{"keys":[` + good + `],"keys":[]}`), "malformed"},
		"a member twice":         {jwks(member(t, secret, "a", `,"kid":"b"`)), "malformed"},
		"a kid of another type":  {jwks(`{"kty":"oct","k":"AAAA","kid":1}`), "key 1: not a JWK"},
		"a short secret":         {jwks(member(t, secret[1:], "a", "")), "31 bytes"},
		"an empty secret":        {jwks(`{"kty":"oct","kid":"a","k":""}`), `kid "a"`},
		"no secret":              {jwks(`{"kty":"oct","kid":"a"}`), `kid "a"`},
		"a small modulus":        {jwks(member(t, &weak, "a", "")), "2047 bits"},
		"a huge modulus":         {jwks(member(t, &huge, "a", "")), "RSA modulus size"},
		"an exponent of one":     {jwks(member(t, &one, "a", "")), `kid "a"`},
		"halves of two keys":     {jwks(member(t, &mixed, "a", "")), `kid "a"`},
		"a point off the curve":  {jwks(`{"kty":"EC","crv":"P-256","x":"` + b64(strings.Repeat("x", 32)) + `","y":"` + b64(strings.Repeat("y", 32)) + `"}`), "key 1"},
		"half an Ed25519 key":    {jwks(`{"kty":"OKP","crv":"Ed25519","x":"AAAA"}`), "key 1"},
		"a kid twice":            {jwks(good, member(t, secret, "good", "")), `key 2: another key has the same kid "good"`},
		"one of two without kid": {jwks(good, member(t, secret, "", "")), "each needs a kid"},
		"two without kid":        {jwks(member(t, secret, "", ""), member(t, secret, "", "")), "each its own"},
		"the second is broken":   {jwks(good, `{"kty":"oct","k":"!"}`), "key 2"},
		"only others":            {jwks(`{"kty":"EC","crv":"P-384"}`, `{"kty":"AKP"}`, member(t, &strong.PublicKey, "", `,"use":"enc"`)), "no key in it"},
	} {
		s, err := ParseKeySet(c.text)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v; want %q", name, s, err, c.says)
			continue
		}
		if strings.Contains(err.Error(), base64.RawURLEncoding.EncodeToString(secret)[:12]) || strings.Contains(err.Error(), "ssss") {
			t.Errorf("%s: the error holds a secret: %v", name, err)
		}
	}
}

func TestKeysForSomethingElseArePassedOver(t *testing.T) {
	strong := theRSAKey()
	s, err := ParseKeySet(jwks(
		member(t, &strong.PublicKey, "enc", `,"use":"enc"`), member(t, &strong.PublicKey, "oaep", `,"alg":"RSA-OAEP"`), member(t, &strong.PublicKey, "rs512", `,"alg":"RS512"`),
		member(t, &strong.PublicKey, "wrap", `,"key_ops":["wrapKey"]`), `{"kty":"EC","crv":"P-521","kid":"p521"}`, `{"kty":"OKP","crv":"X25519","kid":"x"}`, `{"kid":"none"}`,
		member(t, &strong.PublicKey, "rs256", `,"use":"sig","alg":"RS256","key_ops":["verify"],"x5t":"","iat":1`),
	))
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() != 1 || s.find("rs256") == nil || s.find("enc") != nil || len(s.PassedOver()) != 7 {
		t.Errorf("%d keys, passed over %q", s.Len(), s.PassedOver())
	}
	if s.Secret() {
		t.Error("public keys are secret")
	}
}

func TestAddingAKeyLeavesTheRestOfTheFileAsItIs(t *testing.T) {
	secret := bytes.Repeat([]byte("s"), minSecret)
	const stranger = `{"kty":"EC","crv":"P-384","kid":"p","x":"AA"}`
	text := `{"note":{"by":"hand"},"keys":[` + member(t, secret, "old", `,"mine":1`) + `,` + stranger + `]}`
	s, err := ParseKeySet([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	k, err := MakeKey("ES256", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Add(k); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(k); err == nil {
		t.Error("one kid was added twice")
	}
	again, err := ParseKeySet(s.Text())
	if err != nil {
		t.Fatal(err)
	}
	if again.Len() != 2 || again.find("old") == nil || again.find(k.ID()) == nil || len(again.PassedOver()) != 1 {
		t.Errorf("%d keys, passed over %q", again.Len(), again.PassedOver())
	}
	for _, kept := range []string{`"note"`, `"by"`, `"mine"`, `"P-384"`} {
		if !bytes.Contains(again.Text(), []byte(kept)) {
			t.Errorf("%s is lost:\n%s", kept, again.Text())
		}
	}
	if !bytes.Equal(s.Text(), again.Text()) {
		t.Error("a second writing differs")
	}
}

func TestThePublicHalfHoldsNothingSecret(t *testing.T) {
	s := set(t, allAlgorithms...)
	public, _ := s.Public()
	text := string(public.Text())
	if found := regexp.MustCompile(`"(d|p|q|dp|dq|qi|k|oth)"`).FindString(text); found != "" {
		t.Errorf("%s in\n%s", found, text)
	}
	again, err := ParseKeySet(public.Text())
	if err != nil || again.Len() != 3 || again.Secret() {
		t.Errorf("%v, %v", again, err)
	}
	if _, without := again.Public(); without != nil {
		t.Errorf("without %v", without)
	}
}

func TestSignSaysWhatIsWrong(t *testing.T) {
	s := set(t, "EdDSA", "ES256")
	public, _ := s.Public()
	good := Claims{Subject: "a1", Audience: Inside, Issued: noon, Expires: noon.Add(time.Hour)}
	with := func(change func(c *Claims)) Claims { c := good; change(&c); return c }
	for name, c := range map[string]struct {
		set    *KeySet
		kid    string
		claims Claims
		says   string
	}{
		"several keys":     {s, "", good, "EdDSA, ES256"},
		"unknown kid":      {s, "x", good, `"x"`},
		"public":           {public, "", good, "public"},
		"public, by kid":   {public, "EdDSA", good, "public"},
		"audience":         {s, "EdDSA", with(func(c *Claims) { c.Audience = "all" }), `"all"`},
		"subject":          {s, "EdDSA", with(func(c *Claims) { c.Subject = "../a" }), `"../a"`},
		"all of them":      {s, "EdDSA", with(func(c *Claims) { c.Subject = AllContainers }), "outside only"},
		"no time":          {s, "EdDSA", with(func(c *Claims) { c.Expires = noon }), "before it began"},
		"time before noon": {s, "EdDSA", with(func(c *Claims) { c.Expires = noon.Add(-time.Hour) }), "before it began"},
	} {
		if token, err := c.set.Sign(c.kid, c.claims); err == nil || token != "" || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v", name, token, err)
		}
	}
}

func TestMakeKeyGivesEachItsOwnID(t *testing.T) {
	ids := map[string]bool{}
	for range 20 {
		k, err := MakeKey("HS256", "")
		if err != nil {
			t.Fatal(err)
		}
		ids[k.ID()] = true
	}
	if len(ids) != 20 {
		t.Errorf("%d ids of 20 keys", len(ids))
	}
	for _, alg := range Algorithms {
		if k, err := MakeKey(alg, "x"); err != nil || k.ID() != "x" || k.key.method.Alg() != alg || !k.key.secret() {
			t.Errorf("%s: %v", alg, err)
		}
	}
	if _, err := MakeKey("RS512", ""); err == nil || !strings.Contains(err.Error(), fmt.Sprint(strings.Join(Algorithms, ", "))) {
		t.Errorf("RS512: %v", err)
	}
}
