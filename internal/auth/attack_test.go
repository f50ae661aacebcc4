package auth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"
)

var allAlgorithms = []string{"HS256", "RS256", "ES256", "EdDSA"}

func TestATokenOfEachAlgorithmIsVerifiedByItsPublicHalf(t *testing.T) {
	s := set(t, allAlgorithms...)
	public, without := s.Public()
	if fmt.Sprint(without) != "[HS256]" || public.Secret() {
		t.Fatalf("public: without %v, secret %v", without, public.Secret())
	}
	secret, open := opened(t, s), opened(t, public)
	for _, alg := range allAlgorithms {
		token := minted(t, s, alg, "a1", Inside)
		for name, keys := range map[string]*Keys{"the file": secret, "its public half": open} {
			if alg == "HS256" && keys == open {
				refused(t, keys, alg, token, Inside, UnknownKey)
				continue
			}
			for range 2 {
				who, err := keys.Verify([]byte(token), Inside, noon)
				if err != nil || who.Subject() != "a1" || !who.Expires().Equal(noon.Add(time.Hour)) {
					t.Errorf("%s, by %s: %+v, %v", alg, name, who, err)
				}
			}
		}
	}
}

func TestTheAlgorithmIsTheKeysAndNotTheTokens(t *testing.T) {
	s := set(t, allAlgorithms...)
	k := opened(t, s)
	text := func(alg, kid string) string {
		return b64(fmt.Sprintf(`{"alg":%q,"kid":%q}`, alg, kid)) + "." + b64(goodClaims)
	}
	for _, none := range []string{"none", "None", "NONE", "nOnE", ""} {
		for _, kid := range append(allAlgorithms, "") {
			for _, signature := range []string{"", "AA", "e30"} {
				refused(t, k, fmt.Sprintf("alg %q kid %q signature %q", none, kid, signature), text(none, kid)+"."+signature, Inside, UnknownKey)
			}
		}
	}
	for _, alg := range append(allAlgorithms, "HS384", "HS512", "RS384", "RS512", "PS256", "ES384", "ES512", "Ed25519", "hs256") {
		for _, kid := range allAlgorithms {
			if alg != kid {
				refused(t, k, alg+" by the key of "+kid, signedRaw(t, s, kid, text(alg, kid)), Inside, UnknownKey)
			}
		}
	}
	refused(t, k, "RS512 signed so", rs512(t, s, text("RS512", "RS256")), Inside, UnknownKey)
	refused(t, k, "RS512 said to be RS256", rs512(t, s, text("RS256", "RS256")), Inside, BadSignature)
	refused(t, k, "PS256 said to be RS256", ps256(t, s, text("RS256", "RS256")), Inside, BadSignature)
}

// TestAPublicKeyIsNoSecret signs with every form of the public keys that an
// attacker could have used as an HMAC secret.
func TestAPublicKeyIsNoSecret(t *testing.T) {
	s := set(t, allAlgorithms...)
	k := opened(t, s)
	public, _ := s.Public()
	for _, alg := range []string{"RS256", "ES256", "EdDSA"} {
		half := public.byID[alg].public
		der, err := x509.MarshalPKIXPublicKey(half)
		if err != nil {
			t.Fatal(err)
		}
		jwk, err := public.byID[alg].jwk.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		onFile := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
		secrets := map[string][]byte{"DER": der, "PEM": onFile, "PEM cut": bytes.TrimSpace(onFile), "JWK": jwk, "JWKS": public.Text()}
		switch half := half.(type) {
		case *rsa.PublicKey:
			secrets["n"] = half.N.Bytes()
			secrets["PKCS 1"] = x509.MarshalPKCS1PublicKey(half)
		case *ecdsa.PublicKey:
			secrets["point"], _ = half.Bytes()
		case ed25519.PublicKey:
			secrets["x"] = half
		}
		for name, secret := range secrets {
			refused(t, k, alg+" as HS256 by "+name, hs256(fmt.Sprintf(`{"alg":"HS256","kid":%q}`, alg), goodClaims, secret), Inside, UnknownKey)
			refused(t, k, "by the key of HS256, "+name, hs256(head("HS256"), goodClaims, secret), Inside, BadSignature)
		}
	}
	refused(t, k, "an empty secret", hs256(head("HS256"), goodClaims, nil), Inside, BadSignature)
}

func TestAKidIsANameAndNothingElse(t *testing.T) {
	s := set(t, "EdDSA", "HS256")
	k := opened(t, s)
	for _, kid := range []string{
		"", " EdDSA", "EdDSA ", "eddsa", "../../../dev/null", "/dev/null", "file:///etc/passwd", "http://127.0.0.1/jwks",
		"' OR '1'='1", "x' UNION SELECT 'secret", "$(id)", "EdDSA\x00", strings.Repeat("k", 3000), "*", "0", "null",
	} {
		refused(t, k, "kid "+kid, signed(t, s, "EdDSA", fmt.Sprintf(`{"alg":"EdDSA","kid":%s}`, quoted(kid)), goodClaims), Inside, UnknownKey)
		refused(t, k, "kid "+kid, hs256(fmt.Sprintf(`{"alg":"HS256","kid":%s}`, quoted(kid)), goodClaims, nil), Inside, UnknownKey)
	}
	for name, kid := range map[string]string{"number": "1", "array": `["EdDSA"]`, "object": `{"a":1}`, "true": "true"} {
		refused(t, k, "kid is a "+name, signed(t, s, "EdDSA", `{"alg":"EdDSA","kid":`+kid+`}`, goodClaims), Inside, Malformed)
	}
	refused(t, k, "no kid, several keys", signed(t, s, "EdDSA", `{"alg":"EdDSA"}`, goodClaims), Inside, UnknownKey)
	one := set(t, "EdDSA")
	if _, err := opened(t, one).Verify([]byte(signed(t, one, "EdDSA", `{"alg":"EdDSA"}`, goodClaims)), Inside, noon); err != nil {
		t.Errorf("no kid, one key: %v", err)
	}
	refused(t, opened(t, one), "another kid, one key", signed(t, one, "EdDSA", `{"alg":"EdDSA","kid":"x"}`, goodClaims), Inside, UnknownKey)
}

// quoted is a JSON string.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, "\x00", `\u0000`).Replace(text) + `"`
}

func TestAHeadThatDemandsMoreIsRefusedAndOneThatOffersKeysIsNotHeard(t *testing.T) {
	s := set(t, "EdDSA", "ES256")
	k := opened(t, s)
	with := func(more string) string { return `{"alg":"EdDSA","kid":"EdDSA",` + more + `}` }
	for _, more := range []string{
		`"crit":["exp"]`, `"crit":[]`, `"crit":null`, `"b64":false`, `"b64":true`, `"crit":["b64"],"b64":false`, `"zip":"DEF"`, `"cty":"JWT"`,
		`"typ":"dpop+jwt"`, `"typ":"logout+jwt"`, `"typ":1`, `"alg":"EdDSA"`, `"alg":"none"`, `"kid":"ES256"`, `"crit":["exp"],"x":"` + "\xff" + `"`,
		`"x":{"y":1,"y":2}`,
	} {
		refused(t, k, more, signed(t, s, "EdDSA", with(more), goodClaims), Inside, Malformed)
	}
	attacker := set(t, "EdDSA")
	public, _ := attacker.Public()
	jwk, _ := public.byID["EdDSA"].jwk.MarshalJSON()
	for name, more := range map[string]string{
		"jwk": `"jwk":` + string(jwk), "jku": `"jku":"http://127.0.0.1:1/jwks.json"`, "x5u": `"x5u":"http://127.0.0.1:1/x.pem"`, "x5c": `"x5c":["AAAA"]`,
	} {
		refused(t, k, name+" of the attacker", signed(t, attacker, "EdDSA", with(more), goodClaims), Inside, BadSignature)
		if _, err := k.Verify([]byte(signed(t, s, "EdDSA", with(more), goodClaims)), Inside, noon); err != nil {
			t.Errorf("%s beside a good signature: %v", name, err)
		}
	}
	for _, typ := range []string{"JWT", "jwt", "application/jwt", "at+jwt", "application/at+jwt"} {
		if _, err := k.Verify([]byte(signed(t, s, "EdDSA", with(`"typ":"`+typ+`"`), goodClaims)), Inside, noon); err != nil {
			t.Errorf("typ %s: %v", typ, err)
		}
	}
}

func TestWhatIsNoTokenIsMalformed(t *testing.T) {
	s := set(t, "EdDSA")
	k := opened(t, s)
	good := minted(t, s, "EdDSA", "a1", Inside)
	parts := strings.Split(good, ".")
	sum := parts[2]
	// The last character of 64 bytes has 4 bits that say nothing.
	last := strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", sum[len(sum)-1])
	alias := sum[:len(sum)-1] + string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[last|1])
	if _, err := base64.RawURLEncoding.DecodeString(alias); err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"empty": "", "a word": "token", "two parts": parts[0] + "." + parts[1], "four parts": good + ".", "five, as of JWE": good + ".e30.e30",
		"dots": "..", "many dots": strings.Repeat(".", 4000), "no signature": parts[0] + "." + parts[1] + ".",
		"padded": good + "=", "padded head": parts[0] + "=." + parts[1] + "." + sum, "line break": parts[0] + "." + parts[1] + "." + sum[:5] + "\n" + sum[5:],
		"line break behind": good + "\n", "blank": " " + good, "standard alphabet": parts[0] + "." + parts[1] + ".+/" + sum[2:], "NUL": good + "\x00",
		"bits left over": parts[0] + "." + parts[1] + "." + alias, "no head": "." + parts[1] + "." + sum, "no claims": signedRaw(t, s, "EdDSA", parts[0]+"."),
		"JSON serialization": `{"payload":"` + parts[1] + `","signatures":[{"protected":"` + parts[0] + `","signature":"` + sum + `"}]}`,
		"head is null":       signed(t, s, "EdDSA", `null`, goodClaims), "head is an array": signed(t, s, "EdDSA", `["EdDSA"]`, goodClaims),
		"head is empty": signed(t, s, "EdDSA", ``, goodClaims), "head has a tail": signed(t, s, "EdDSA", head("EdDSA")+"{}", goodClaims),
		"claims are null": signed(t, s, "EdDSA", head("EdDSA"), `null`), "claims are text": signed(t, s, "EdDSA", head("EdDSA"), `"a"`),
		"claims are a token": signed(t, s, "EdDSA", head("EdDSA"), good), "claims have a tail": signed(t, s, "EdDSA", head("EdDSA"), goodClaims+"{}"),
		"deep":     signed(t, s, "EdDSA", head("EdDSA"), strings.Repeat("[", 4000)),
		"too long": signed(t, s, "EdDSA", head("EdDSA"), claimsWith("iss", `"`+strings.Repeat("x", MaxToken)+`"`)),
	} {
		refused(t, k, name, token, Inside, Malformed)
	}
	for i := range parts {
		changed := append([]string(nil), parts...)
		changed[i] = changed[i][:8] + map[bool]string{true: "B", false: "A"}[changed[i][8] == 'A'] + changed[i][9:]
		if _, err := k.Verify([]byte(strings.Join(changed, ".")), Inside, noon); err == nil {
			t.Errorf("part %d changed, and accepted", i)
		}
	}
	filler := MaxToken - len(signed(t, s, "EdDSA", head("EdDSA"), claimsWith("iss", `""`)))
	long := signed(t, s, "EdDSA", head("EdDSA"), claimsWith("iss", `"`+strings.Repeat("x", filler*3/4)+`"`))
	if _, err := k.Verify([]byte(long), Inside, noon); err != nil {
		t.Errorf("a token of %d bytes: %v", len(long), err)
	}
}

func TestClaimsAreOfTheirTypeAndMeanOneThing(t *testing.T) {
	s := set(t, "EdDSA")
	k := opened(t, s)
	second := func(d time.Duration) string { return fmt.Sprint(noon.Add(d).Unix()) }
	for _, c := range []struct {
		name, text string
		want       Refusal
	}{
		{"sub", "", WrongSubject}, {"sub", `""`, WrongSubject}, {"sub", `null`, WrongSubject}, {"sub", `1`, Malformed}, {"sub", `["a1"]`, Malformed},
		{"sub", `"*"`, WrongSubject}, {"sub", `".."`, WrongSubject}, {"sub", `"a/b"`, WrongSubject}, {"sub", `"a1 "`, WrongSubject},
		{"sub", `"a1\u0000"`, WrongSubject}, {"sub", `"a1\r\nX: y"`, WrongSubject}, {"sub", `"` + strings.Repeat("a", 129) + `"`, WrongSubject},
		{"sub", `"a1","sub":"a2"`, Malformed}, {"sub", "\"\xff\"", Malformed},
		{"aud", "", Malformed}, {"aud", `null`, Malformed}, {"aud", `1`, Malformed}, {"aud", `{}`, Malformed}, {"aud", `[]`, Malformed},
		{"aud", `["inside","outside"]`, Malformed}, {"aud", `["inside","inside"]`, Malformed}, {"aud", `["inside",1]`, Malformed}, {"aud", `[["inside"]]`, Malformed},
		{"aud", `"outside"`, WrongAud}, {"aud", `["outside"]`, WrongAud}, {"aud", `"Inside"`, WrongAud}, {"aud", `""`, WrongAud}, {"aud", `"inside outside"`, WrongAud},
		{"aud", `"outside","aud":"inside"`, Malformed},
		{"exp", "", Malformed}, {"exp", `null`, Malformed}, {"exp", `"` + second(time.Hour) + `"`, Malformed}, {"exp", `1e400`, Malformed},
		{"exp", `1e300`, Malformed}, {"exp", `9223372036854775808`, Malformed}, {"exp", `-1`, Malformed}, {"exp", `true`, Malformed}, {"exp", `[1]`, Malformed},
		{"exp", "0", Expired}, {"exp", second(-time.Hour), Expired}, {"exp", second(-Leeway), Expired},
		{"exp", `1,"exp":` + second(time.Hour), Malformed},
		{"nbf", `"0"`, Malformed}, {"nbf", `1e300`, Malformed}, {"nbf", second(time.Hour), NotYetValid}, {"nbf", second(Leeway + time.Second), NotYetValid},
	} {
		refused(t, k, c.name+" "+c.text, signed(t, s, "EdDSA", head("EdDSA"), claimsWith(c.name, c.text)), Inside, c.want)
	}
	for _, c := range [][2]string{
		{"aud", `["inside"]`}, {"exp", second(-Leeway + time.Second)}, {"exp", second(time.Hour) + ".5"}, {"exp", "2.0e9"}, {"exp", "253402300799"},
		{"nbf", second(Leeway)}, {"nbf", "0"}, {"nbf", "null"}, {"iss", `{"any":["thing"]}`}, {"sub", `"` + strings.Repeat("a", 128) + `"`},
		{"iss", `"\u2028"`}, {"sub", `"\u0061\u0031"`},
	} {
		token := []byte(signed(t, s, "EdDSA", head("EdDSA"), claimsWith(c[0], c[1])))
		if _, err := k.Verify(token, Inside, noon); err != nil {
			t.Errorf("%s %s: %v", c[0], c[1], err)
		}
	}
}
