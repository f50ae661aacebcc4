package auth

import (
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/diverge-network/gateway/internal/reload"
)

// Keys verify tokens with the keys of a file, as it is by now. The methods may be
// called from any goroutine.
type Keys struct {
	path  string
	log   *slog.Logger
	files *reload.Files
	now   atomic.Pointer[generation]
	taken uint64 // generations; the Taker's
}

// generation is a state of the file, and the tokens that its keys have signed:
// what a key has signed that is there no longer goes with it.
type generation struct {
	number uint64
	keys   *KeySet
	tokens *cache
}

// Open reads a JWKS file, and reads it again when it changes until Close. Public
// keys are enough. The error names the file and what is wrong with it.
func Open(path string, log *slog.Logger) (*Keys, error) {
	k := &Keys{path: path, log: log}
	files, err := reload.Open(log, k.take, path)
	if err != nil {
		return nil, err
	}
	k.files = files
	return k, nil
}

func (k *Keys) take(contents [][]byte) error {
	keys, err := parseFile(contents[0], k.path, k.log)
	if err != nil {
		return err
	}
	k.taken++
	k.now.Store(&generation{number: k.taken, keys: keys, tokens: newCache()})
	return nil
}

// ReadKeySet reads a JWKS file once, as it is.
func ReadKeySet(path string, log *slog.Logger) (*KeySet, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseFile(text, path, log)
}

// parseFile logs what its operator should know of a key file.
func parseFile(text []byte, path string, log *slog.Logger) (*KeySet, error) {
	keys, err := ParseKeySet(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, passed := range keys.PassedOver() {
		log.Info("a key is not for verifying tokens here, and is passed over", "file", path, "key", passed)
	}
	if info, err := os.Stat(path); err == nil && keys.Secret() && info.Mode().Perm()&0o077 != 0 {
		log.Warn("others may read a file that holds secret keys: chmod 600, or keep public keys only (gateway keys public)",
			"file", path, "mode", info.Mode().Perm().String())
	}
	return keys, nil
}

// Close ends the watching of the file. Verify still works, with the keys as they
// are.
func (k *Keys) Close() { k.files.Close() }

// Stats says what became of the file's changes.
func (k *Keys) Stats() reload.Stats { return k.files.Stats() }

// Verify returns who bears the token, on the listener of that audience and at
// that time. The error is a Refusal. A token that was verified before is
// remembered until the keys change, which takes a tenth of a microsecond and no
// allocation; it does not keep token.
func (k *Keys) Verify(token []byte, audience Audience, now time.Time) (Identity, error) {
	if len(token) > MaxToken {
		return Identity{}, Malformed
	}
	g := k.now.Load()
	if v := g.tokens.load(token); v != nil {
		return v.at(audience, now)
	}
	v, err := g.keys.verify(string(token))
	if err != nil {
		return Identity{}, err
	}
	v.by = g.number
	identity, err := v.at(audience, now)
	if err == nil {
		g.tokens.store(v)
	}
	return identity, err
}

// Renew is what Verify would say by now of the token that an identity comes from:
// the identity is no longer good once the token has expired, or its key is gone.
// While the keys have not changed it only looks at the time.
func (k *Keys) Renew(i Identity, now time.Time) (Identity, error) {
	switch {
	case i.of == nil:
		return Identity{}, Missing
	case i.of.by == k.now.Load().number:
		return i.of.at(i.of.audience, now)
	default:
		return k.Verify([]byte(i.of.token), i.of.audience, now)
	}
}
