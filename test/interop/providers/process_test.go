package providers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is a provider in a folder beside this one: its install gets and builds it, its run is it.
type program struct {
	folder  string
	needs   string
	install func() (output []byte, err error)
}

func newProgram(folder, needs string) *program {
	return &program{folder: folder, needs: needs, install: sync.OnceValues(func() ([]byte, error) {
		return exec.Command(filepath.Join("..", folder, "install")).CombinedOutput()
	})}
}

var programs = []*program{
	newProgram("provider-rust", "cargo"),
	newProgram("provider-python", "python3"),
}

// each runs the test once for each program, side by side.
func each(t *testing.T, test func(t *testing.T, p *program)) {
	for _, p := range programs {
		t.Run(p.folder, func(t *testing.T) {
			if os.Getenv("CI") == "" && os.Getenv("GATEWAY_INTEROP") == "" {
				t.Skip("building other people's programs takes minutes: GATEWAY_INTEROP=1 runs this")
			}
			if _, err := exec.LookPath(p.needs); err != nil {
				t.Fatalf("%s needs %s: %v", p.folder, p.needs, err)
			}
			if output, err := p.install(); err != nil {
				t.Fatalf("%s could not be installed: %v\n%s", p.folder, err, output)
			}
			t.Parallel()
			test(t, p)
		})
	}
}

// line is what a provider says on standard output.
type line struct {
	Provider, Version string // the first line
	Opened            string // a path was opened
}

// running is a provider's process.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr bytes.Buffer // to be read when ended is closed
	said   chan line
	ended  chan struct{}
	err    error // set when ended is closed
}

// start starts p; it is killed at the latest when the test ends.
func start(t *testing.T, p *program, url string) *running {
	t.Helper()
	r := &running{t: t, cmd: exec.Command(filepath.Join("..", p.folder, "run"), "--url", url), said: make(chan line, 256), ended: make(chan struct{})}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.cmd.Stderr = &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var said line
			if err := json.Unmarshal(lines.Bytes(), &said); err != nil {
				t.Errorf("%s said %q", p.folder, lines.Text())
			}
			r.said <- said
		}
		r.err = r.cmd.Wait()
	}()
	t.Cleanup(func() {
		r.kill()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", p.folder, &r.stderr)
		}
	})
	return r
}

// introduced waits until the provider has its /requests connection.
func (r *running) introduced() {
	r.t.Helper()
	if said := r.next(); said.Provider == "" || said.Version == "" {
		r.t.Fatalf("the first line is %+v", said)
	}
}

// opened waits until the provider has opened such a path.
func (r *running) opened(path string) {
	r.t.Helper()
	for r.next().Opened != path {
	}
}

func (r *running) next() line {
	r.t.Helper()
	select {
	case said := <-r.said:
		return said
	case <-r.ended:
		r.t.Fatalf("the provider ended: %v\n%s", r.err, &r.stderr)
	case <-time.After(patience):
		r.t.Fatal("the provider says nothing")
	}
	return line{}
}

// exit waits until the provider has ended, and returns its status.
func (r *running) exit() int {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		r.t.Fatal("the provider does not end")
	}
	return r.cmd.ProcessState.ExitCode()
}

func (r *running) kill() {
	r.t.Helper()
	_ = r.cmd.Process.Kill()
	r.exit()
}

func (r *running) terminate() {
	r.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
}
