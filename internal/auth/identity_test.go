package auth

import (
	"strings"
	"testing"
)

func TestATokenMaySpeakForItsContainerAndNoOther(t *testing.T) {
	s := set(t, "EdDSA")
	k := opened(t, s)
	for _, c := range []struct {
		subject  string
		audience Audience
		all      bool
	}{{"a1", Inside, false}, {"a1", Outside, false}, {"*", Outside, true}} {
		who, err := k.Verify([]byte(minted(t, s, "", c.subject, c.audience)), c.audience, noon)
		if err != nil {
			t.Fatal(err)
		}
		own, named := who.Container()
		if who.All() != c.all || !who.May([]byte("a1")) || named == c.all || named && own != c.subject {
			t.Errorf("%+v: %+v", c, who)
		}
		for _, other := range []string{"a2", "A1", "a", "a11", "*", "", "a1\x00"} {
			if who.May([]byte(other)) != c.all {
				t.Errorf("%+v may speak for %q: %v", c, other, !c.all)
			}
		}
	}
	if (Identity{}).May(nil) || (Identity{}).All() {
		t.Error("the zero identity may something")
	}
	if _, named := (Identity{}).Container(); named {
		t.Error("the zero identity has a container")
	}
}

func TestATokenIsGoodOnOneListener(t *testing.T) {
	s := set(t, "EdDSA")
	k := opened(t, s)
	refused(t, k, "outside's", minted(t, s, "", "a1", Outside), Inside, WrongAud)
	refused(t, k, "inside's", minted(t, s, "", "a1", Inside), Outside, WrongAud)
	both := []byte(minted(t, s, "", "a1", Inside))
	for range 2 { // a token that is remembered from its own listener, too
		if _, err := k.Verify(both, Inside, noon); err != nil {
			t.Error(err)
		}
		if _, err := k.Verify(both, Outside, noon); err != WrongAud {
			t.Error(err)
		}
	}
	refused(t, k, "inside for all", signed(t, s, "EdDSA", head("EdDSA"), claimsWith("sub", `"*"`)), Inside, WrongSubject)
}

func TestBearerTakesTheOneTokenOfAHead(t *testing.T) {
	const before, after = "GET /mcp HTTP/1.1\r\nHost: h\r\n", "Accept: */*\r\n\r\n"
	for line, want := range map[string]string{
		"Authorization: Bearer abc\r\n":          "abc",
		"authorization:bearer abc\r\n":           "abc",
		"AUTHORIZATION: \t BEARER   abc  \t\r\n": "abc",
		"Authorization: Bearer a.b_c-d~+/==\n":   "a.b_c-d~+/==",
	} {
		if token, err := Bearer([]byte(before + line + after)); err != nil || string(token) != want {
			t.Errorf("%q: %q, %v", line, token, err)
		}
	}
	for lines, want := range map[string]Refusal{
		"":                                                             Missing,
		"X: y\r\n":                                                     Missing,
		"Authorization: \r\n":                                          Missing,
		"Authorization: Basic YTpi\r\n":                                Missing,
		"Authorization: Bearerabc\r\n":                                 Missing,
		"Authorization : Bearer abc\r\n":                               Missing,
		" Authorization: Bearer abc\r\n":                               Missing,
		"X-Authorization: Bearer abc\r\n":                              Missing,
		"Proxy-Authorization: Bearer abc\r\n":                          Missing,
		"X: y\rAuthorization: Bearer abc\r\n":                          Missing,
		"Cookie: access_token=abc\r\n":                                 Missing,
		"Authorization: Bearer\r\n":                                    Malformed,
		"Authorization: Bearer \r\n":                                   Malformed,
		"Authorization: Bearer a b\r\n":                                Malformed,
		"Authorization: Bearer a, Basic b\r\n":                         Malformed,
		"Authorization: Bearer a\tb\r\n":                               Malformed,
		"Authorization: Bearer a\rb\r\n":                               Malformed,
		"Authorization: Bearer abc\r\n def\r\n":                        Malformed,
		"Authorization:\r\n Bearer abc\r\n":                            Malformed,
		"Authorization: Bearer abc\r\nAuthorization: Bearer abc\r\n":   Malformed,
		"Authorization: Bearer abc\r\nauthorization: Basic YTpi\r\n":   Malformed,
		"Authorization: Basic YTpi\r\nX: y\r\nAuthorization: Bearer\n": Malformed,
	} {
		if token, err := Bearer([]byte(before + lines + after)); err != want || token != nil {
			t.Errorf("%q: %q, %v; want %v", lines, token, err, want)
		}
	}
}

func TestAChallengeTellsNoMoreThanItMust(t *testing.T) {
	seen := map[string]int{}
	for _, r := range Refusals {
		challenge := r.Challenge()
		seen[challenge]++
		if !strings.HasPrefix(challenge, `Bearer realm="gateway"`) || strings.Contains(challenge, string(r)) && r != Expired && r != Malformed {
			t.Errorf("%s: %s", r, challenge)
		}
		if hasError := strings.Contains(challenge, `error="invalid_token"`); hasError == (r == Missing) {
			t.Errorf("%s: %s", r, challenge)
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d different challenges: %v", len(seen), seen)
	}
}
