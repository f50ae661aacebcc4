package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// exitTimeout is how long a process has to exit after its input was closed, and again after SIGTERM.
const exitTimeout = 2 * time.Second

// commandDialer starts processes that speak MCP on standard input and output.
type commandDialer struct {
	argv  []string
	env   []string
	dir   string
	limit int
	log   *slog.Logger
	noise *atomic.Uint64 // lines skipped
}

func newCommandDialer(c Config, noise *atomic.Uint64) *commandDialer {
	return &commandDialer{argv: c.Command, env: c.Env, dir: c.Dir, limit: c.MaxMessage, log: c.Logger, noise: noise}
}

// String is the program without its arguments, which may be secret.
func (d *commandDialer) String() string { return d.argv[0] }

func (d *commandDialer) close() {}

// dial starts a process. The SDK's CommandTransport is not used: it cannot take lines over 16 MiB, and does not tell
// why a process went away.
func (d *commandDialer) dial(ctx context.Context) (link, error) {
	cmd := exec.Command(d.argv[0], d.argv[1:]...)
	cmd.Env = append(os.Environ(), d.env...)
	cmd.Dir = d.dir
	cmd.WaitDelay = exitTimeout // a child of its own may hold the pipes open after it
	ownGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	reader, writer := io.Pipe()
	log := d.log.With("upstream", d.String())
	stderr := &lineLog{line: func(line string) { log.Info("the MCP server says", "stderr", line) }}
	cmd.Stdout = &messageLines{to: writer, noise: func(line string) {
		d.noise.Add(1)
		log.Warn("skipped a line of the MCP server's standard output that is no message", "line", line)
	}}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the command: %w", err)
	}
	conn, err := (&mcp.IOTransport{Reader: reader, Writer: stdin, MaxLineLength: d.limit}).Connect(ctx)
	if err != nil {
		killGroup(cmd)
		err = errors.Join(err, cmd.Wait())
		return nil, err
	}
	l := &commandLink{conn: conn, cmd: cmd, stdin: stdin, reader: reader, exited: make(chan struct{})}
	go func() { // ends with the process, which close ends; close waits for it
		err := cmd.Wait()
		killGroup(cmd) // what it has left behind
		stderr.flush()
		writer.CloseWithError(exitError(err))
		close(l.exited)
	}()
	return l, nil
}

func exitError(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return errors.New("the command exited")
	case errors.As(err, &exit):
		return fmt.Errorf("the command exited: %s", exit.ProcessState)
	}
	return fmt.Errorf("the command exited: %s", strings.TrimPrefix(err.Error(), "exec: "))
}

// commandLink is one run of the command.
type commandLink struct {
	conn   mcp.Connection
	cmd    *exec.Cmd
	stdin  io.Closer
	reader *io.PipeReader
	exited chan struct{}
}

func (l *commandLink) read(ctx context.Context) (jsonrpc.Message, error) { return l.conn.Read(ctx) }

func (l *commandLink) write(ctx context.Context, msg jsonrpc.Message) error {
	err := l.conn.Write(ctx, msg)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return &brokenError{cause: err}
}

// negotiated implements link: there are no headers to name it in.
func (l *commandLink) negotiated(string) {}

// established implements link: all that a process says comes on one stream, which is open already.
func (l *commandLink) established(*session) {}

// close ends the process as MCP asks: its input closes, then SIGTERM, then SIGKILL. What it writes meanwhile is
// discarded, so that it cannot block on it.
func (l *commandLink) close() {
	l.reader.Close()
	l.stdin.Close()
	if !l.exitsWithin(exitTimeout) {
		terminateGroup(l.cmd)
		if !l.exitsWithin(exitTimeout) {
			killGroup(l.cmd)
		}
	}
	<-l.exited
	l.conn.Close()
}

func (l *commandLink) exitsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-l.exited:
		return true
	case <-timer.C:
		return false
	}
}
