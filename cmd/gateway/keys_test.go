package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/auth"
)

// keysFile makes a key file by the command.
func keysFile(t *testing.T, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.json")
	if code, _, stderr := runOnce(t, append([]string{"keys", "new", "--file", path}, args...)...); code != exitOK {
		t.Fatal(stderr)
	}
	return path
}

func openKeys(t *testing.T, path string) *auth.Keys {
	t.Helper()
	keys, err := auth.Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(keys.Close)
	return keys
}

func TestATokenOfEveryAlgorithmIsVerifiedWithWhatKeysPublicPrints(t *testing.T) {
	for _, alg := range auth.Algorithms {
		path := keysFile(t, "--alg", alg, "--kid", "k1")
		code, token, stderr := runOnce(t, "token", "--keys", path, "--container", "a1", "--audience", "inside", "--ttl", "10m")
		if code != exitOK || stderr != "" || strings.Count(token, "\n") != 1 {
			t.Fatalf("%s: %d, %q, %q", alg, code, token, stderr)
		}
		verifies := path
		code, public, stderr := runOnce(t, "keys", "public", "--file", path)
		if alg == "HS256" {
			if code != exitFailure || public != "" || !strings.Contains(stderr, "no public half") {
				t.Errorf("%d, %q, %q", code, public, stderr)
			}
		} else {
			verifies = filepath.Join(t.TempDir(), "public.json")
			if err := os.WriteFile(verifies, []byte(public), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		now := time.Now()
		keys := openKeys(t, verifies)
		who, err := keys.Verify([]byte(strings.TrimSpace(token)), auth.Inside, now)
		if left := who.Expires().Sub(now); err != nil || who.Subject() != "a1" || left < 9*time.Minute || left > 11*time.Minute {
			t.Errorf("%s: %+v, %v", alg, who, err)
		}
	}
}

func TestKeysNewWritesOneFileForItsOwnerAndOverwritesNone(t *testing.T) {
	path := keysFile(t)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	before, _ := os.ReadFile(path)
	code, stdout, stderr := runOnce(t, "keys", "new", "--file", path)
	after, _ := os.ReadFile(path)
	if code != exitFailure || stdout != "" || !strings.Contains(stderr, "--append") || string(before) != string(after) {
		t.Errorf("%d, %q, %q", code, stdout, stderr)
	}
}

func TestKeysNewAppendsBehindALinkAndKeepsTheMode(t *testing.T) {
	path := keysFile(t, "--kid", "old")
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runOnce(t, "keys", "new", "--append", "--file", link, "--kid", "new", "--alg", "ES256")
	if code != exitOK || !strings.Contains(stdout, "new") {
		t.Fatalf("%d, %q, %q", code, stdout, stderr)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o400 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is one no longer: %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(path + ".*"); left != nil {
		t.Errorf("left behind: %v", left)
	}
	for _, kid := range []string{"old", "new"} {
		if code, _, stderr := runOnce(t, "token", "--keys", path, "--container", "*", "--audience", "outside", "--kid", kid); code != exitOK {
			t.Errorf("%s: %s", kid, stderr)
		}
	}
	code, _, stderr = runOnce(t, "keys", "new", "--append", "--file", link, "--kid", "new")
	if code != exitFailure || !strings.Contains(stderr, `"new"`) {
		t.Errorf("a kid twice: %d, %q", code, stderr)
	}
	if left, _ := filepath.Glob(path + ".*"); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestKeysNewPrintsAKeyFileWhereItIsToldNone(t *testing.T) {
	code, stdout, stderr := runOnce(t, "keys", "new", "--kid", "k1")
	set, err := auth.ParseKeySet([]byte(stdout))
	if code != exitOK || stderr != "" || err != nil || !set.Secret() {
		t.Errorf("%d, %q, %v", code, stderr, err)
	}
}

func TestNoSecretIsPrintedBesideAKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	_, stdout, _ := runOnce(t, "keys", "new", "--file", path, "--kid", "k1", "--alg", "HS256")
	if want := path + ": HS256 key k1\n"; stdout != want {
		t.Errorf("printed %q, want %q", stdout, want)
	}
	if code, _, stderr := runOnce(t, "keys", "new", "--append", "--file", path, "--kid", "k2"); code != exitOK {
		t.Fatal(stderr)
	}
	_, public, stderr := runOnce(t, "keys", "public", "--file", path)
	if strings.Contains(public, `"d"`) || strings.Contains(public, `"k"`) || !strings.Contains(public, `"k2"`) || !strings.Contains(stderr, "k1") {
		t.Errorf("%q, %q", public, stderr)
	}
}

func TestAKeyFileThatOthersMayReadIsWarnedOf(t *testing.T) {
	path := keysFile(t)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	code, token, stderr := runOnce(t, "token", "--keys", path, "--container", "a1", "--audience", "inside")
	if code != exitOK || token == "" || !strings.Contains(stderr, "chmod 600") || strings.Contains(stderr, strings.TrimSpace(token)) {
		t.Errorf("%d, %q", code, stderr)
	}
}

func TestWrongTokenAndKeyCommandsSayWhatToDo(t *testing.T) {
	path := keysFile(t, "--kid", "k1")
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"keys":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		code int
		args []string
		says []string
	}{
		"no audience":      {exitUsage, []string{"token", "--keys", path, "--container", "a1"}, []string{"--audience", "gateway token --help"}},
		"wrong audience":   {exitUsage, []string{"token", "--keys", path, "--container", "a1", "--audience", "both"}, []string{`"both"`}},
		"wrong container":  {exitUsage, []string{"token", "--keys", path, "--container", "a/b", "--audience", "inside"}, []string{`"a/b"`}},
		"all, inside":      {exitUsage, []string{"token", "--keys", path, "--container", "*", "--audience", "inside"}, []string{"outside only"}},
		"no time":          {exitUsage, []string{"token", "--keys", path, "--container", "a1", "--audience", "inside", "--ttl", "0s"}, []string{"--ttl"}},
		"unknown kid":      {exitUsage, []string{"token", "--keys", path, "--container", "a1", "--audience", "inside", "--kid", "k2"}, []string{`"k2"`}},
		"no file":          {exitFailure, []string{"token", "--keys", path + ".not", "--container", "a1", "--audience", "inside"}, []string{path + ".not"}},
		"no keys":          {exitFailure, []string{"token", "--keys", broken, "--container", "a1", "--audience", "inside"}, []string{broken, "gateway keys new"}},
		"append to what":   {exitUsage, []string{"keys", "new", "--append"}, []string{"--append", "--file"}},
		"append to none":   {exitFailure, []string{"keys", "new", "--append", "--file", path + ".not"}, []string{path + ".not"}},
		"append to broken": {exitFailure, []string{"keys", "new", "--append", "--file", broken}, []string{broken}},
		"unknown alg":      {exitUsage, []string{"keys", "new", "--alg", "RS512"}, []string{"--alg", `"RS512"`, "gateway keys new --help"}},
		"no command":       {exitUsage, []string{"keys"}, []string{`"new"`, `"public"`}},
		"public of what":   {exitUsage, []string{"keys", "public"}, []string{"--file", "gateway keys public --help"}},
	} {
		code, stdout, stderr := runOnce(t, c.args...)
		if code != c.code || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: %d, %q, %q", name, code, stdout, stderr)
		}
		for _, says := range c.says {
			if !strings.Contains(stderr, says) {
				t.Errorf("%s: %q does not say %q", name, stderr, says)
			}
		}
	}
}
