package gateway

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func keyFile(t *testing.T, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTheSessionKeyIsTheFileWithoutItsLineEnd(t *testing.T) {
	want := bytes.Repeat([]byte("k"), minKey)
	for _, end := range []string{"", "\n", "\r\n"} {
		key, err := sessionKey(keyFile(t, append(bytes.Clone(want), end...)))
		if err != nil || !bytes.Equal(key, want) {
			t.Errorf("line end %q: key %q, %v", end, key, err)
		}
	}
}

func TestWithoutAFileEverySessionKeyIsAnother(t *testing.T) {
	first, err := sessionKey("")
	if err != nil {
		t.Fatal(err)
	}
	second, err := sessionKey("")
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != minKey || bytes.Equal(first, second) {
		t.Errorf("keys %x and %x", first, second)
	}
}

func TestAnUnusableSessionKeyFileIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ file, says string }{
		"missing":   {filepath.Join(t.TempDir(), "none"), "cannot be read: no such file"},
		"directory": {t.TempDir(), "is no regular file"},
		"short":     {keyFile(t, []byte("too short\n")), "a key of 9 bytes: 32 is the least"},
		"huge":      {keyFile(t, make([]byte, maxKey+1)), "a key has at most 4096"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sessionKey(test.file)
			var bad *ConfigError
			if !errors.As(err, &bad) || bad.Flag != "--session-key-file" || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v, want a *ConfigError that says %q", err, test.says)
			}
		})
	}
}
