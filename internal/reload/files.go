package reload

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// Interval is the time between two looks. A change is taken once it has stayed
	// the same for one more, so that files which are written one after the other,
	// or a piece at a time, are taken together and whole.
	Interval = 2 * time.Second

	// MaxSize is the most that a file may hold, in bytes.
	MaxSize = 1 << 20
)

// A Taker makes of the files' contents, in the order of their paths, what they
// are good for. If it returns an error, what was taken before stays in use. It
// must not keep the contents, nor put them into its error. It is never called
// twice at once.
type Taker func(contents [][]byte) error

// Files are files that are read again when they change. The methods may be called
// from any goroutine.
type Files struct {
	paths []string
	take  Taker
	log   *slog.Logger

	taken, failed atomic.Uint64
	stale         atomic.Bool

	stop  chan struct{}
	ended sync.WaitGroup
	close sync.Once

	// Of the goroutine that looks.
	current [sha256.Size]byte // of what was taken, or was refused
	seen    [sha256.Size]byte // of the look before
}

// Stats is what became of the files since Open.
type Stats struct {
	Taken  uint64 // how often a change was taken, the first reading not counted
	Failed uint64 // how many changes could not be
	Stale  bool   // the newest could not: older contents are in use
}

// Open reads the files and has take take them; the error of either is returned,
// with the file's name. Until Close it goes on to take what changes, and logs what
// it cannot take, once for each change. log is not nil.
func Open(log *slog.Logger, take Taker, paths ...string) (*Files, error) {
	f := &Files{paths: paths, take: take, log: log, stop: make(chan struct{})}
	contents, err := f.read()
	if err == nil {
		err = take(contents)
	}
	if err != nil {
		return nil, err
	}
	f.current = sum(contents, nil)
	f.seen = f.current
	f.ended.Go(f.watch)
	return f, nil
}

// Close ends the watching and waits for it. What was taken stays in use.
func (f *Files) Close() {
	f.close.Do(func() { close(f.stop) })
	f.ended.Wait()
}

// Stats may be called at any time, also after Close.
func (f *Files) Stats() Stats {
	return Stats{Taken: f.taken.Load(), Failed: f.failed.Load(), Stale: f.stale.Load()}
}

func (f *Files) watch() {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f.look()
		case <-f.stop:
			return
		}
	}
}

func (f *Files) look() {
	contents, err := f.read()
	now := sum(contents, err)
	settled := now == f.seen
	f.seen = now
	if now == f.current || !settled {
		return
	}
	f.current = now
	if err == nil {
		err = f.take(contents)
	}
	f.stale.Store(err != nil)
	if err != nil {
		f.failed.Add(1)
		f.log.Error("changed files cannot be used, and what they held before stays in use: put them right, they are read again",
			"files", f.paths, "error", err)
		return
	}
	f.taken.Add(1)
	f.log.Info("changed files are in use", "files", f.paths)
}

func (f *Files) read() ([][]byte, error) {
	contents := make([][]byte, len(f.paths))
	for i, path := range f.paths {
		var err error
		if contents[i], err = readFile(path); err != nil {
			return nil, err
		}
	}
	return contents, nil
}

func readFile(path string) ([]byte, error) {
	// What is no regular file may have no end, and a pipe not even a beginning.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	switch info, err := file.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	content, err := io.ReadAll(io.LimitReader(file, MaxSize+1))
	switch {
	case err != nil:
		return nil, err
	case len(content) > MaxSize:
		return nil, fmt.Errorf("%s is larger than %d bytes", path, MaxSize)
	}
	return content, nil
}

// sum tells contents apart, and failures to read them by what they say.
func sum(contents [][]byte, err error) [sha256.Size]byte {
	h := sha256.New()
	if err != nil {
		fmt.Fprintf(h, "error %v", err)
	}
	for _, content := range contents {
		fmt.Fprintf(h, "%d ", len(content))
		h.Write(content)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
