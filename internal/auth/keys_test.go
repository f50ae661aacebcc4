package auth

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/internal/reload"
)

// file is a key file that a test replaces.
type file struct {
	t    *testing.T
	path string
	log  record
}

// record is a log that can be read while it is written.
type record struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func newFile(t *testing.T) *file { return &file{t: t, path: filepath.Join(t.TempDir(), "keys.json")} }

func (f *file) replace(text []byte) {
	f.t.Helper()
	if err := os.WriteFile(f.path+".new", text, 0o600); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(f.path+".new", f.path); err != nil {
		f.t.Fatal(err)
	}
}

func (f *file) open() *Keys {
	f.t.Helper()
	k, err := Open(f.path, slog.New(slog.NewTextHandler(&f.log, nil)))
	if err != nil {
		f.t.Fatal(err)
	}
	return k
}

// settle lets a change of the file be noticed, by the bubble's clock.
func settle() {
	time.Sleep(3 * reload.Interval)
	synctest.Wait()
}

func TestATokenEndsWithTheKeyThatSignedIt(t *testing.T) {
	f := newFile(t)
	synctest.Test(t, func(t *testing.T) {
		both := set(t, "EdDSA", "ES256")
		f.replace(both.Text())
		k := f.open()
		defer k.Close()
		tokens := map[string][]byte{}
		for _, kid := range []string{"EdDSA", "ES256"} {
			tokens[kid] = []byte(minted(t, both, kid, "a1", Inside))
			for range 2 { // the second time it is remembered
				if _, err := k.Verify(tokens[kid], Inside, noon); err != nil {
					t.Fatal(err)
				}
			}
		}
		left := &KeySet{byID: map[string]*key{}}
		if err := left.Add(NewKey{both.byID["ES256"]}); err != nil {
			t.Fatal(err)
		}
		f.replace(left.Text())
		settle()
		if _, err := k.Verify(tokens["EdDSA"], Inside, noon); err != UnknownKey {
			t.Errorf("by a key that was removed: %v", err)
		}
		if _, err := k.Verify(tokens["ES256"], Inside, noon); err != nil {
			t.Errorf("by a key that stayed: %v", err)
		}
		// The same kid with another key is another key.
		f.replace(set(t, "ES256").Text())
		settle()
		if _, err := k.Verify(tokens["ES256"], Inside, noon); err != BadSignature {
			t.Errorf("by a key that was replaced: %v", err)
		}
		if got := k.Stats(); got != (reload.Stats{Taken: 2}) {
			t.Errorf("%+v", got)
		}
	})
}

func TestABrokenKeyFileLeavesTheOldKeysInUse(t *testing.T) {
	f := newFile(t)
	synctest.Test(t, func(t *testing.T) {
		s := set(t, "HS256")
		f.replace(s.Text())
		k := f.open()
		defer k.Close()
		token := []byte(minted(t, s, "", "a1", Inside))
		for _, broken := range []string{"", "{", `{"keys":[]}`, `{"keys":[{"kty":"oct","kid":"x","k":"c2VjcmV0c2VjcmV0"}]}`} {
			f.replace([]byte(broken))
			settle()
			settle()
			if _, err := k.Verify(token, Inside, noon); err != nil {
				t.Errorf("%q: %v", broken, err)
			}
		}
		if got := k.Stats(); got != (reload.Stats{Failed: 4, Stale: true}) {
			t.Errorf("%+v", got)
		}
		if n := strings.Count(f.log.String(), "level=ERROR"); n != 4 {
			t.Errorf("%d errors logged of 4 changes:\n%s", n, f.log.String())
		}
		f.replace(s.Text())
		settle()
		if got := k.Stats(); got.Stale {
			t.Errorf("put right: %+v", got)
		}
		for _, secret := range []string{"c2VjcmV0", "secretsecret", string(token), s.keys[0].jwk.KeyID + "x"} {
			if strings.Contains(f.log.String(), secret) {
				t.Errorf("the log holds %q:\n%s", secret, f.log.String())
			}
		}
	})
}

func TestAFileOfSecretsThatOthersMayReadIsWarnedOf(t *testing.T) {
	secret := set(t, "EdDSA")
	public, _ := secret.Public()
	for name, c := range map[string]struct {
		set  *KeySet
		mode os.FileMode
		warn bool
	}{
		"secret, 600": {secret, 0o600, false}, "secret, 640": {secret, 0o640, true}, "secret, 604": {secret, 0o604, true},
		"public, 644": {public, 0o644, false}, "HS256, 644": {set(t, "HS256"), 0o644, true},
	} {
		f := newFile(t)
		f.replace(c.set.Text())
		if err := os.Chmod(f.path, c.mode); err != nil {
			t.Fatal(err)
		}
		f.open().Close()
		if warned := strings.Contains(f.log.String(), "chmod 600"); warned != c.warn {
			t.Errorf("%s: %q", name, f.log.String())
		}
	}
}

func TestWhatIsPassedOverIsLogged(t *testing.T) {
	f := newFile(t)
	f.replace(jwks(member(t, []byte(strings.Repeat("s", 32)), "a", ""), `{"kty":"AKP","kid":"pq"}`))
	f.open().Close()
	if !strings.Contains(f.log.String(), `pq`) || strings.Contains(f.log.String(), "c3Nz") {
		t.Error(f.log.String())
	}
}

func TestOpenNamesTheFileAndWhatIsWrong(t *testing.T) {
	f := newFile(t)
	if _, err := Open(f.path, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), f.path) {
		t.Error(err)
	}
	f.replace([]byte("{}"))
	if _, err := Open(f.path, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), f.path) || !strings.Contains(err.Error(), "gateway keys new") {
		t.Error(err)
	}
}

func TestARememberedTokenEndsInTime(t *testing.T) {
	s := set(t, "EdDSA")
	k := opened(t, s)
	token := []byte(minted(t, s, "", "a1", Inside)) // for an hour
	for _, c := range []struct {
		after time.Duration
		want  error
	}{
		{0, nil}, {time.Hour - time.Second, nil}, {time.Hour + Leeway - time.Second, nil}, {time.Hour + Leeway, Expired}, {24 * time.Hour, Expired}, {0, nil},
	} {
		if _, err := k.Verify(token, Inside, noon.Add(c.after)); err != c.want {
			t.Errorf("after %v: %v, want %v", c.after, err, c.want)
		}
	}
	early := []byte(signed(t, s, "EdDSA", head("EdDSA"), claimsWith("nbf", fmt.Sprint(noon.Unix()))))
	for _, c := range []struct {
		after time.Duration
		want  error
	}{{-time.Hour, NotYetValid}, {-Leeway, nil}, {-Leeway - time.Second, NotYetValid}, {0, nil}} {
		if _, err := k.Verify(early, Inside, noon.Add(c.after)); err != c.want {
			t.Errorf("%v after its beginning: %v, want %v", c.after, err, c.want)
		}
	}
}

func TestVerifyDoesNotKeepTheTokensBytes(t *testing.T) {
	s := set(t, "EdDSA")
	k := opened(t, s)
	text := minted(t, s, "", "a1", Inside)
	token := []byte(text)
	if _, err := k.Verify(token, Inside, noon); err != nil {
		t.Fatal(err)
	}
	clear(token)
	if _, err := k.Verify([]byte(text), Inside, noon); err != nil {
		t.Error(err)
	}
	if _, err := k.Verify(token, Inside, noon); err == nil {
		t.Error("zeroes are a token")
	}
}

// TestTokensAreVerifiedWhileKeysChange runs with the race detector.
func TestTokensAreVerifiedWhileKeysChange(t *testing.T) {
	both := set(t, "EdDSA", "HS256")
	k := opened(t, both)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 200 {
				kid := []string{"EdDSA", "HS256"}[(worker+i)%2]
				container := fmt.Sprintf("c%d", i%20)
				token := []byte(minted(t, both, kid, container, Inside))
				who, err := k.Verify(token, Inside, noon)
				if err != nil || !who.May([]byte(container)) || who.May([]byte("c999")) {
					t.Errorf("%v, %v", who, err)
				}
			}
		})
	}
	all.Go(func() {
		for range 50 {
			if err := k.take([][]byte{both.Text()}); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
}

func TestAnIdentityEndsWithItsTokenOrItsKey(t *testing.T) {
	f := newFile(t)
	synctest.Test(t, func(t *testing.T) {
		both := set(t, "EdDSA", "ES256")
		f.replace(both.Text())
		k := f.open()
		defer k.Close()
		who := map[string]Identity{}
		for _, kid := range []string{"EdDSA", "ES256"} {
			var err error
			if who[kid], err = k.Verify([]byte(minted(t, both, kid, "a1", Outside)), Outside, noon); err != nil {
				t.Fatal(err)
			}
		}
		renewed := func(kid string, now time.Time, want error) {
			t.Helper()
			got, err := k.Renew(who[kid], now)
			if err != want || (err == nil) != (got.Subject() == "a1") {
				t.Errorf("%s: %q, %v; want %v", kid, got.Subject(), err, want)
			}
			if err == nil {
				who[kid] = got
			}
		}
		late := noon.Add(time.Hour + Leeway)
		renewed("EdDSA", noon, nil)
		renewed("EdDSA", late, Expired)
		left := &KeySet{byID: map[string]*key{}}
		if err := left.Add(NewKey{both.byID["ES256"]}); err != nil {
			t.Fatal(err)
		}
		f.replace(left.Text())
		settle()
		renewed("EdDSA", noon, UnknownKey)
		for range 2 { // by the new keys, and then by the clock alone
			renewed("ES256", noon, nil)
			renewed("ES256", late, Expired)
		}
		if _, err := k.Renew(Identity{}, noon); err != Missing {
			t.Errorf("nobody's: %v", err)
		}
	})
}
