package upstream

import (
	"bytes"
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

	"github.com/diverge-network/gateway/internal/toolheader"
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
	exit  time.Duration
	noise *atomic.Uint64 // lines skipped
	among *commands
}

func newCommandDialer(c Config, noise *atomic.Uint64) *commandDialer {
	return &commandDialer{argv: c.Command, env: c.Env, dir: c.Dir, limit: c.MaxMessage, exit: c.exit, noise: noise, among: &running}
}

// String is the program without its arguments, which may be secret.
func (d *commandDialer) String() string { return d.argv[0] }

func (d *commandDialer) close() {}

// dial starts a process. The SDK's CommandTransport is not used: it cannot take lines over 16 MiB, and does not tell
// why a process went away.
func (d *commandDialer) dial(ctx context.Context, log *slog.Logger) (link, error) {
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
	stderr := &lineLog{line: func(line string) { log.Info("the MCP server says", "stderr", line) }}
	cmd.Stdout = &messageLines{to: writer, noise: func(line string) {
		d.noise.Add(1)
		log.Warn("skipped a line of the MCP server's standard output that is no message", "line", line)
	}}
	cmd.Stderr = stderr
	if err := d.among.start(cmd); err != nil {
		return nil, fmt.Errorf("cannot start the command: %w", err)
	}
	conn, err := (&mcp.IOTransport{Reader: reader, Writer: stdin, MaxLineLength: d.limit}).Connect(ctx)
	if err != nil {
		killGroup(cmd)
		err = errors.Join(err, cmd.Wait())
		d.among.ended(cmd)
		return nil, err
	}
	l := &commandLink{conn: conn, cmd: cmd, stdin: stdin, reader: reader, patience: d.exit, turn: make(chan struct{}, 1), exited: make(chan struct{})}
	go func() { // ends with the process, which close ends; close waits for it
		err := cmd.Wait()
		d.among.ended(cmd)
		stderr.flush()
		l.end = exitError(err)
		writer.CloseWithError(l.end)
		close(l.exited)
	}()
	return l, nil
}

var errExited = errors.New("the command exited")

func exitError(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return errExited
	case errors.As(err, &exit):
		return fmt.Errorf("the command exited: %s", exit.ProcessState)
	}
	return fmt.Errorf("the command exited: %s", strings.TrimPrefix(err.Error(), "exec: "))
}

// commandLink is one run of the command.
type commandLink struct {
	conn     mcp.Connection
	cmd      *exec.Cmd
	stdin    io.Closer
	reader   *io.PipeReader
	patience time.Duration
	turn     chan struct{} // holds one while a message is written
	exited   chan struct{}
	end      error // how the process exited; written before exited is closed
}

func (l *commandLink) read(ctx context.Context) (jsonrpc.Message, error) { return l.conn.Read(ctx) }

// write gives up with ctx even when the process does not read, which the SDK's connection does not. A message that is
// being written then goes on, since half of one would spoil all that follow.
func (l *commandLink) write(ctx context.Context, msg jsonrpc.Message) error {
	if request, ok := msg.(*jsonrpc.Request); ok {
		kept := *request
		kept.Params = bytes.Clone(request.Params) // they are the caller's, who may be gone before they are encoded
		msg = &kept
	}
	select {
	case l.turn <- struct{}{}:
	case <-l.exited:
		return &brokenError{cause: l.end}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	written := make(chan error, 1)
	go func() { // close waits for it
		defer func() { <-l.turn }()
		written <- l.conn.Write(ctx, msg)
	}()
	select {
	case err := <-written:
		switch {
		case err == nil:
			return nil
		case ctx.Err() == nil:
			return &brokenError{cause: l.unwritable(ctx, err)}
		}
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// unwritable is why a message could not be written. A process that exits is seen to have closed its input before it is seen
// to have exited, but how it exited is what an operator should read.
func (l *commandLink) unwritable(ctx context.Context, err error) error {
	timer := time.NewTimer(l.patience)
	defer timer.Stop()
	select {
	case <-l.exited:
		return l.end
	case <-timer.C:
	case <-ctx.Done():
	}
	return err
}

// negotiated implements link: there are no headers.
func (l *commandLink) negotiated(string, *toolheader.Tools) {}

// established implements link: all that a process says comes on one stream, which is open already.
func (l *commandLink) established(*session) {}

func (l *commandLink) streamEach() bool { return false }

// close ends the process as MCP asks: its input closes, then SIGTERM, then SIGKILL. What it writes meanwhile is
// discarded, so that it cannot block on it.
func (l *commandLink) close() {
	l.reader.Close()
	l.stdin.Close()
	if !l.exitsWithin(l.patience) {
		terminateGroup(l.cmd)
		if !l.exitsWithin(l.patience) {
			killGroup(l.cmd)
		}
	}
	<-l.exited
	l.conn.Close()
	l.turn <- struct{}{} // nothing is written any more, nor will be
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
