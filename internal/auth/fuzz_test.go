package auth

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzVerify tries texts as tokens, as they are and signed rightly: nothing but a
// token that was made here is good, and whatever is good names a container.
func FuzzVerify(f *testing.F) {
	s := set(f, "EdDSA", "HS256")
	k := opened(f, s)
	good := minted(f, s, "EdDSA", "a1", Inside)
	f.Add(good, "", "")
	f.Add("", head("EdDSA"), goodClaims)
	f.Add("", `{"alg":"none"}`, goodClaims)
	f.Add("", head("HS256"), claimsWith("aud", `["inside"]`))
	f.Add("..", `null`, `null`)
	f.Add(strings.Repeat(".", 9000), `{"alg":"EdDSA","kid":"EdDSA","crit":["x"]}`, claimsWith("exp", `1e999`))
	f.Fuzz(func(t *testing.T, text, header, claims string) {
		if _, err := k.Verify([]byte(text), Inside, noon); (err == nil) != (text == good) {
			t.Errorf("%q: %v", text, err)
		}
		for _, kid := range []string{"EdDSA", "HS256"} {
			token := []byte(signed(t, s, kid, header, claims))
			for _, audience := range []Audience{Inside, Outside} {
				who, err := k.Verify(token, audience, noon)
				again, errAgain := k.Verify(token, audience, noon)
				if who != again || err != errAgain {
					t.Fatalf("%v, %v and then %v, %v", who, err, again, errAgain)
				}
				if err != nil {
					if refusal, ok := err.(Refusal); !ok || who != (Identity{}) || refusal == Missing {
						t.Fatalf("%v, %v", who, err)
					}
					continue
				}
				own, named := who.Container()
				if named == who.All() || named && !who.May([]byte(own)) || who.All() && audience != Outside {
					t.Fatalf("%+v", who)
				}
			}
		}
	})
}

// FuzzParseKeySet: whatever is a key set stays what it is when it is written, has
// strong keys only, and a public half without secrets.
func FuzzParseKeySet(f *testing.F) {
	for _, alg := range allAlgorithms {
		s := set(f, alg)
		f.Add(s.Text())
		public, _ := s.Public()
		f.Add(public.Text())
	}
	f.Add([]byte(`{"keys":[{"kty":"oct","k":"` + strings.Repeat("A", 43) + `"},{"kty":"RSA","n":"AQ","e":"AQAB"}],"x":1}`))
	f.Add([]byte(`{"keys":[{"kty":"EC","crv":"P-256","x":"","y":"","d":""}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseKeySet(text)
		if err != nil {
			return
		}
		again, err := ParseKeySet(s.Text())
		if err != nil || again.Len() != s.Len() || again.Len() == 0 || !bytes.Equal(again.Text(), s.Text()) {
			t.Fatalf("%v: %q became %q", err, text, s.Text())
		}
		public, without := s.Public()
		if public.Secret() || public.Len()+len(without) != s.Len() {
			t.Fatalf("%q has the public half %q, without %q", text, public.Text(), without)
		}
		if s.Secret() && s.Len() == 1 {
			token, err := s.Sign("", Claims{Subject: "a1", Audience: Inside, Issued: noon, Expires: noon.Add(1e9)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.verify(token); err != nil {
				t.Fatalf("%q does not verify what it signs: %v", text, err)
			}
		}
	})
}

func FuzzBearer(f *testing.F) {
	f.Add([]byte("Authorization: Bearer abc\r\n"))
	f.Add([]byte("authorization:bearer a b\r\n c\r\nAuthorization:"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		token, err := Bearer(lines)
		if (err == nil) != (len(token) > 0) || bytes.ContainsAny(token, " \t\r\n,") {
			t.Fatalf("%q, %v", token, err)
		}
		if err == nil && bytes.Count(bytes.ToLower(lines), []byte("authorization:")) < 1 {
			t.Fatalf("%q out of nothing", token)
		}
	})
}
