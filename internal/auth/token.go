package auth

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// MaxToken is the most bytes that a token may have. More is refused unread.
	MaxToken = 8 << 10

	// Leeway is how far the clock of whoever made a token may be off: it is
	// accepted for that much longer than it says, and earlier.
	Leeway = 30 * time.Second

	// latest is the last second of the year 9999: no time in a token is after it.
	latest = 253402300799
)

// segment decodes what is between a token's dots: one text for each content, so
// no padding, no line breaks, and no bits left over.
var segment = base64.RawURLEncoding.Strict()

// verified is what a token says whose signature is right. It is not changed once
// it is anybody's Identity.
type verified struct {
	token     string
	subject   string
	audience  Audience
	expires   int64 // Unix time
	notBefore int64
	by        uint64 // the generation of keys that verified it
}

// at is the identity that a verified token gives on a listener, at a time.
func (v *verified) at(audience Audience, now time.Time) (Identity, error) {
	const leeway = int64(Leeway / time.Second)
	switch second := now.Unix(); {
	case second >= v.expires+leeway:
		return Identity{}, Expired
	case second < v.notBefore-leeway:
		return Identity{}, NotYetValid
	case v.audience != audience:
		return Identity{}, WrongAud
	}
	return Identity{v}, nil
}

// verify checks everything of a token but its time and audience.
func (s *KeySet) verify(token string) (*verified, error) {
	if len(token) > MaxToken {
		return nil, Malformed
	}
	signed, signature, ok := cutLast(token)
	if !ok {
		return nil, Malformed
	}
	head, claims, ok := strings.Cut(signed, ".")
	if !ok || strings.Contains(claims, ".") {
		return nil, Malformed
	}
	alg, kid, err := readHead(head)
	if err != nil {
		return nil, err
	}
	key := s.find(kid)
	if key == nil || key.method.Alg() != alg {
		return nil, UnknownKey
	}
	sum, err := decode(signature)
	if err != nil {
		return nil, err
	}
	if key.method.Verify(signed, sum, key.public) != nil {
		return nil, BadSignature
	}
	v, err := readClaims(claims)
	if err != nil {
		return nil, err
	}
	v.token = token
	return v, nil
}

func cutLast(token string) (signed, signature string, ok bool) {
	dot := strings.LastIndexByte(token, '.')
	if dot < 0 {
		return "", "", false
	}
	return token[:dot], token[dot+1:], true
}

func decode(text string) ([]byte, error) {
	// The decoder skips line breaks.
	if text == "" || strings.ContainsAny(text, "\r\n") {
		return nil, Malformed
	}
	b, err := segment.DecodeString(text)
	if err != nil {
		return nil, Malformed
	}
	return b, nil
}

// readHead reads the only two parameters that matter, and refuses a token that is
// not read as it demands, or is of a type that is something else's.
func readHead(text string) (alg, kid string, err error) {
	b, err := decode(text)
	if err != nil {
		return "", "", err
	}
	var head struct {
		Alg  string         `json:"alg"`
		Kid  string         `json:"kid"`
		Typ  string         `json:"typ"`
		Cty  jsontext.Value `json:"cty"`
		Crit jsontext.Value `json:"crit"`
		Zip  jsontext.Value `json:"zip"`
		B64  jsontext.Value `json:"b64"`
	}
	if !object(b) || json.Unmarshal(b, &head) != nil {
		return "", "", Malformed
	}
	if head.Cty != nil || head.Crit != nil || head.Zip != nil || head.B64 != nil {
		return "", "", Malformed
	}
	switch strings.TrimPrefix(strings.ToLower(head.Typ), "application/") {
	case "", "jwt", "at+jwt":
	default:
		return "", "", Malformed
	}
	return head.Alg, head.Kid, nil
}

func readClaims(text string) (*verified, error) {
	b, err := decode(text)
	if err != nil {
		return nil, err
	}
	var claims struct {
		Sub string         `json:"sub"`
		Aud jsontext.Value `json:"aud"`
		Exp *float64       `json:"exp"`
		Nbf *float64       `json:"nbf"`
	}
	if !object(b) || json.Unmarshal(b, &claims) != nil {
		return nil, Malformed
	}
	audience, ok := readAudience(claims.Aud)
	if !ok || !instant(claims.Exp) || claims.Nbf != nil && !instant(claims.Nbf) {
		return nil, Malformed
	}
	if !audience.valid() {
		return nil, WrongAud
	}
	if !subjectValid(claims.Sub, audience) {
		return nil, WrongSubject
	}
	v := &verified{subject: claims.Sub, audience: audience, expires: int64(*claims.Exp)}
	if claims.Nbf != nil {
		v.notBefore = int64(*claims.Nbf)
	}
	return v, nil
}

// readAudience accepts a string, or an array of one: a token is for one listener.
func readAudience(value jsontext.Value) (Audience, bool) {
	var one string
	if value.Kind() == jsontext.KindString && json.Unmarshal(value, &one) == nil {
		return Audience(one), true
	}
	var several []jsontext.Value
	if value.Kind() != jsontext.KindBeginArray || json.Unmarshal(value, &several) != nil || len(several) != 1 ||
		several[0].Kind() != jsontext.KindString || json.Unmarshal(several[0], &one) != nil {
		return "", false
	}
	return Audience(one), true
}

// object tells a JSON object from null, which would leave everything absent.
func object(b []byte) bool { return jsontext.Value(b).Kind() == jsontext.KindBeginObject }

// instant reports whether a time is there, and can be reckoned with.
func instant(t *float64) bool { return t != nil && *t >= 0 && *t <= latest }
