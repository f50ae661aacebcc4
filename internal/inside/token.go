package inside

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash"
	"sync"
	"time"
)

// sessionID is what tells two sessions apart: the random part of their tokens.
type sessionID [16]byte

// session is what a session's token says.
type session struct {
	id       sessionID
	issued   int64 // Unix seconds
	revision revision
}

// A token, before base64, is
//
//	version u8 | revision u8 | issued u64 | id [16] | HMAC-SHA256 [32]
//
// The MAC covers the container's id as well, so that a token is worth nothing
// to another container. Whoever has the key can honour the token: another
// replica, or this process after a restart.
const (
	tokenVersion = 1
	claimsSize   = 1 + 1 + 8 + 16
	tokenSize    = claimsSize + sha256.Size
)

// minSessionKey is the least a key must have to be as strong as the MAC.
const minSessionKey = 32

var (
	tokenDomain   = []byte("mcp session of container ")
	tokenEncoding = base64.RawURLEncoding.Strict()
	tokenLength   = tokenEncoding.EncodedLen(tokenSize)
)

// signer mints and verifies session tokens. It may be used from many goroutines.
type signer struct{ states sync.Pool }

// signing is one use of the key. The buffers are here because what is passed
// to a hash.Hash would otherwise be allocated each time.
type signing struct {
	mac   hash.Hash
	token [tokenSize]byte
	sum   [sha256.Size]byte
	scope []byte
}

func newSigner(key []byte) (*signer, error) {
	if len(key) < minSessionKey {
		return nil, fmt.Errorf("session key has %d bytes: give at least %d random ones", len(key), minSessionKey)
	}
	key = append([]byte(nil), key...)
	return &signer{states: sync.Pool{New: func() any {
		return &signing{mac: hmac.New(sha256.New, key)}
	}}}, nil
}

// sign computes the MAC of the claims in s.token.
func (s *signing) sign(container string) []byte {
	s.scope = append(s.scope[:0], tokenDomain...)
	s.scope = append(s.scope, byte(len(container)))
	s.scope = append(s.scope, container...)
	s.mac.Reset()
	s.mac.Write(s.scope)
	s.mac.Write(s.token[:claimsSize])
	return s.mac.Sum(s.sum[:0])
}

// mint makes the token of a new session.
func (g *signer) mint(container string, r revision, now time.Time) (string, session) {
	s := g.states.Get().(*signing)
	defer g.states.Put(s)

	made := session{issued: now.Unix(), revision: r}
	rand.Read(made.id[:])
	claims := append(s.token[:0], tokenVersion, byte(r))
	claims = binary.BigEndian.AppendUint64(claims, uint64(made.issued))
	claims = append(claims, made.id[:]...)
	return tokenEncoding.EncodeToString(append(claims, s.sign(container)...)), made
}

// verify reads a token of the container. It reports false for anything that
// mint did not make for this container with this key.
func (g *signer) verify(container string, token []byte) (session, bool) {
	if len(token) != tokenLength {
		return session{}, false
	}
	s := g.states.Get().(*signing)
	defer g.states.Put(s)

	if n, err := tokenEncoding.Decode(s.token[:], token); err != nil || n != tokenSize {
		return session{}, false
	}
	if !hmac.Equal(s.sign(container), s.token[claimsSize:]) {
		return session{}, false
	}
	read := session{
		revision: revision(s.token[1]),
		issued:   int64(binary.BigEndian.Uint64(s.token[2:])),
	}
	copy(read.id[:], s.token[10:])
	return read, s.token[0] == tokenVersion && read.revision.known()
}
