package reload

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder is a directory of files, and of what was taken of them.
type folder struct {
	t   *testing.T
	dir string
	log record

	mu    sync.Mutex // guards what follows
	taken []string
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

var errBroken = errors.New("broken")

func newFolder(t *testing.T) *folder { return &folder{t: t, dir: t.TempDir()} }

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

func (f *folder) write(name, content string) {
	f.t.Helper()
	if err := os.WriteFile(f.path(name), []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// take takes everything that does not hold "broken".
func (f *folder) take(contents [][]byte) error {
	all := string(bytes.Join(contents, []byte("+")))
	if strings.Contains(all, "broken") {
		return errBroken
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken = append(f.taken, all)
	return nil
}

func (f *folder) open(names ...string) *Files {
	f.t.Helper()
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = f.path(name)
	}
	files, err := Open(slog.New(slog.NewTextHandler(&f.log, nil)), f.take, paths...)
	if err != nil {
		f.t.Fatal(err)
	}
	return files
}

// looks lets n looks pass.
func looks(n int) {
	time.Sleep(time.Duration(n) * Interval) // of the bubble's clock
	synctest.Wait()
}

func (f *folder) want(taken ...string) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if fmt.Sprint(f.taken) != fmt.Sprint(taken) {
		f.t.Errorf("took %q, want %q", f.taken, taken)
	}
}

func TestAChangeIsTakenHoweverItIsMade(t *testing.T) {
	for name, change := range map[string]func(f *folder){
		"in place": func(f *folder) { f.write("a", "new") },
		"in place, with the date and size of before": func(f *folder) {
			info, err := os.Stat(f.path("a"))
			f.must(err)
			f.write("a", "new")
			f.must(os.Chtimes(f.path("a"), info.ModTime(), info.ModTime()))
		},
		"by renaming": func(f *folder) {
			f.write("b", "new")
			f.must(os.Rename(f.path("b"), f.path("a")))
		},
		"removed and made again": func(f *folder) {
			f.must(os.Remove(f.path("a")))
			f.write("a", "new")
		},
		"a link to another file": func(f *folder) {
			f.write("b", "new")
			f.must(os.Remove(f.path("a")))
			f.must(os.Symlink("b", f.path("a")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			synctest.Test(t, func(t *testing.T) {
				f.write("a", "old")
				files := f.open("a")
				defer files.Close()
				looks(3)
				change(f)
				looks(3)
				f.want("old", "new")
				if got := files.Stats(); got != (Stats{Taken: 1}) {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// TestASwapOfADirectoryLinkIsTaken does as Kubernetes does with secrets.
func TestASwapOfADirectoryLinkIsTaken(t *testing.T) {
	f := newFolder(t)
	synctest.Test(t, func(t *testing.T) {
		f.must(os.Mkdir(f.path("..1"), 0o700))
		f.must(os.Mkdir(f.path("..2"), 0o700))
		f.write("..1/a", "old")
		f.write("..2/a", "new")
		f.must(os.Symlink("..1", f.path("..data")))
		f.must(os.Symlink("..data/a", f.path("a")))
		files := f.open("a")
		defer files.Close()
		f.must(os.Symlink("..2", f.path("..tmp")))
		f.must(os.Rename(f.path("..tmp"), f.path("..data")))
		f.must(os.RemoveAll(f.path("..1")))
		looks(3)
		f.want("old", "new")
	})
}

func TestWhatIsStillChangingIsNotTaken(t *testing.T) {
	f := newFolder(t)
	synctest.Test(t, func(t *testing.T) {
		f.write("cert", "old")
		f.write("key", "old")
		files := f.open("cert", "key")
		defer files.Close()
		time.Sleep(Interval / 2) // no look is due when the test goes on
		f.write("cert", "new")
		looks(1)
		f.write("key", "new")
		looks(1)
		f.want("old+old")
		looks(1)
		f.want("old+old", "new+new")
	})
}

func TestWhatIsBrokenLeavesTheOldInUseAndIsSaidOnce(t *testing.T) {
	f := newFolder(t)
	synctest.Test(t, func(t *testing.T) {
		f.write("a", "old")
		files := f.open("a")
		defer files.Close()
		f.write("a", "broken")
		looks(20)
		if got := files.Stats(); got != (Stats{Failed: 1, Stale: true}) {
			t.Errorf("broken: %+v", got)
		}
		f.must(os.Remove(f.path("a")))
		looks(20)
		if got := files.Stats(); got != (Stats{Failed: 2, Stale: true}) {
			t.Errorf("gone: %+v", got)
		}
		if n := strings.Count(f.log.String(), "level=ERROR"); n != 2 {
			t.Errorf("%d errors logged of 2 changes:\n%s", n, f.log.String())
		}
		f.want("old")
		f.write("a", "old")
		looks(3)
		f.want("old", "old")
		if got := files.Stats(); got != (Stats{Taken: 1, Failed: 2}) {
			t.Errorf("put right: %+v", got)
		}
	})
}

func TestOpenReturnsWhatCannotBeUsed(t *testing.T) {
	f := newFolder(t)
	f.write("broken", "broken")
	f.write("large", strings.Repeat("x", MaxSize+1))
	f.must(syscall.Mkfifo(f.path("pipe"), 0o600))
	for name, says := range map[string]string{
		"broken": "broken", "none": "none", ".": "no regular file", "pipe": "no regular file", "large": "larger than",
	} {
		files, err := Open(slog.New(slog.DiscardHandler), f.take, f.path(name))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			files.Close()
		}
	}
}

func TestCloseMayComeTwice(t *testing.T) {
	f := newFolder(t)
	f.write("a", "old")
	files := f.open("a")
	files.Close()
	files.Close()
}
