package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

const (
	// asProgram makes the test binary be the program itself, so that signals can be tried on a process of its own.
	asProgram = "GATEWAY_TEST_AS_PROGRAM"
	// asServer makes it be the demo's MCP server on standard input and output.
	asServer = "GATEWAY_TEST_AS_SERVER"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	if os.Getenv(asServer) != "" {
		if err := newDemoMCP().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	// fasthttp keeps the Date header's text up to date for the life of the process.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))
}

// output is what a command wrote so far. It can be read while the command runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // has room for one
}

func newOutput() *output { return &output{more: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until the output holds text.
func (o *output) await(t *testing.T, ctx context.Context, text string) {
	t.Helper()
	for !strings.Contains(o.String(), text) {
		select {
		case <-o.more:
		case <-ctx.Done():
			t.Fatalf("no %q in what was written:\n%s", text, o)
		}
	}
}

// runOnce runs a command that ends by itself.
func runOnce(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	out, errs := newOutput(), newOutput()
	code = Run(t.Context(), args, out, errs)
	return code, out.String(), errs.String()
}
