package auth

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// KeySet is what a JWKS file holds. It is not changed once it verifies.
type KeySet struct {
	keys   []*key
	byID   map[string]*key
	passed []string

	members []jsontext.Value // of "keys", as they are in the file
	rest    jsontext.Value   // the file's other members
}

// document is a JWKS as text. Duplicate names and bad UTF-8 are errors in it, as
// they are in what it holds.
type document struct {
	Keys []jsontext.Value `json:"keys"`
	Rest jsontext.Value   `json:",embed"`
}

// ParseKeySet reads a JWKS. Keys that say they are for something else than HS256,
// RS256, ES256 or EdDSA signatures are passed over; one that is for those, and is
// weak or malformed, is an error, and so is a set without a key that can be used.
func ParseKeySet(text []byte) (*KeySet, error) {
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf(`not a JWKS, {"keys":[...]}: %w`, reason(err))
	}
	s := &KeySet{byID: map[string]*key{}, rest: doc.Rest}
	for i, member := range doc.Keys {
		k, other, err := parseKey(member)
		switch {
		case err != nil:
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		case other != "":
			s.passed = append(s.passed, fmt.Sprintf("key %d: %s", i+1, other))
			s.members = append(s.members, member)
			continue
		}
		if err := s.add(k, member); err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
	}
	if len(s.keys) == 0 {
		return nil, errors.New("no key in it verifies HS256, RS256, ES256 or EdDSA: make one with gateway keys new")
	}
	return s, nil
}

// NewKeySet is a set of one key.
func NewKeySet(k NewKey) (*KeySet, error) {
	s := &KeySet{byID: map[string]*key{}}
	return s, s.Add(k)
}

// Add adds a key, whose id must be new.
func (s *KeySet) Add(k NewKey) error {
	member, err := json.Marshal(k.key.jwk)
	if err != nil {
		return err
	}
	return s.add(k.key, member)
}

func (s *KeySet) add(k *key, member jsontext.Value) error {
	if _, taken := s.byID[k.jwk.KeyID]; taken {
		return fmt.Errorf("another key has the same kid %q, or none either: give each its own", k.jwk.KeyID)
	}
	if len(s.keys) > 0 && (k.jwk.KeyID == "" || s.byID[""] != nil) {
		return errors.New("of several keys each needs a kid: a token is verified by the key that it names")
	}
	s.keys = append(s.keys, k)
	s.byID[k.jwk.KeyID] = k
	s.members = append(s.members, member)
	return nil
}

// find returns the key that a token names. One that names none means the only
// one.
func (s *KeySet) find(kid string) *key {
	if kid == "" && len(s.keys) == 1 {
		return s.keys[0]
	}
	return s.byID[kid]
}

// PassedOver says of each key that is not used why.
func (s *KeySet) PassedOver() []string { return s.passed }

// Secret reports whether a key of the set can sign, so that the set must be kept
// secret.
func (s *KeySet) Secret() bool { return slices.ContainsFunc(s.keys, (*key).secret) }

// Public is the set without anything secret, and the ids of the keys that have
// no public half (HS256) and so are not in it. The set has no keys if there are
// no others.
func (s *KeySet) Public() (public *KeySet, without []string) {
	public = &KeySet{byID: map[string]*key{}}
	for _, k := range s.keys {
		half := k.jwk.Public()
		if half.Key == nil {
			without = append(without, k.jwk.KeyID)
			continue
		}
		member, err := json.Marshal(half)
		if err != nil {
			panic(fmt.Sprintf("auth: a public key that was read cannot be written: %v", err))
		}
		kept := *k
		kept.jwk = half
		if err := public.add(&kept, member); err != nil {
			panic(fmt.Sprintf("auth: a set cannot be made of keys of another: %v", err))
		}
	}
	return public, without
}

// Len is how many keys verify.
func (s *KeySet) Len() int { return len(s.keys) }

// Text is the set as a file holds it, with a line break at its end. What was
// parsed is as it was, but for white space.
func (s *KeySet) Text() []byte {
	text, err := json.Marshal(document{Keys: s.members, Rest: s.rest}, jsontext.WithIndent("  "))
	if err != nil {
		panic(fmt.Sprintf("auth: a key set cannot be written: %v", err))
	}
	return append(text, '\n')
}

// reason is what is wrong with a JSON text, without a part of it.
func reason(err error) error {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return fmt.Errorf("its JSON is malformed near byte %d", syntax.ByteOffset)
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		return fmt.Errorf("%q is of another type, near byte %d", semantic.JSONPointer, semantic.ByteOffset)
	}
	return errors.New("its JSON is malformed")
}
