package certs

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/diverge-network/gateway/internal/certs/certstest"
)

// folder holds the files of a test.
type folder struct {
	t   *testing.T
	dir string
	log record
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

func newFolder(t *testing.T) *folder { return &folder{t: t, dir: t.TempDir()} }

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

func (f *folder) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(f.path(name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) pair(i certstest.Pair) {
	f.t.Helper()
	f.write("cert", i.Cert)
	f.write("key", i.Key)
}

func (f *folder) contents(names ...string) (contents [][]byte) {
	f.t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(f.path(name))
		if err != nil {
			f.t.Fatal(err)
		}
		contents = append(contents, text)
	}
	return contents
}

func (f *folder) open(ca string) *Files {
	f.t.Helper()
	paths := Paths{Cert: f.path("cert"), Key: f.path("key")}
	if ca != "" {
		paths.ClientCA = f.path(ca)
	}
	files, err := Open(paths, slog.New(slog.NewTextHandler(&f.log, nil)))
	if err != nil {
		f.t.Fatal(err)
	}
	return files
}
