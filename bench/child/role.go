//go:build linux

package child

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
)

// Role is what a child of one's own kind does. It says where it is by calling ready, and goes on until ctx ends.
type Role func(ctx context.Context, args []string, ready func(Addresses)) error

// roleVar names the role in a child's environment.
const roleVar = "GATEWAY_BENCH_ROLE"

// roles by name.
var roles = map[string]Role{
	"gateway": gatewayRole,
	"floor":   floorRole,
	"sdk":     sdkRole,
	"stdio":   stdioRole,

	"inmemory": inMemoryRole,
	"bare":     bareRole,
}

// Main returns at once in a process that is no child. In one that is, it plays its role and exits.
func Main() {
	name := os.Getenv(roleVar)
	if name == "" {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ready := func(a Addresses) {
		a.Control = control(ctx)
		line, _ := json.Marshal(a) // strings always marshal
		fmt.Println(string(line))
	}
	if err := roles[name](ctx, os.Args[1:], ready); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// StartRole starts a child of this process's own kind.
func StartRole(role string, args ...string) (*Process, error) {
	cmd, err := RoleCommand(role, args...)
	if err != nil {
		return nil, err
	}
	return Start(cmd, inJSON)
}

// RoleCommand is the command that StartRole starts.
func RoleCommand(role string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(slices.Clone(os.Environ()), roleVar+"="+role)
	return cmd, nil
}

// asIs asks for the memory without a collection.
const asIs = "as-is"

// control serves what Process.Memory and Process.Profile ask for.
func control(ctx context.Context) (addr string) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return ""
	}
	m := http.NewServeMux()
	m.HandleFunc("/memory", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != asIs {
			runtime.GC()
			runtime.GC()
		}
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		_ = json.NewEncoder(w).Encode(Memory{Heap: int64(s.HeapAlloc), Stack: int64(s.StackInuse), Mallocs: s.Mallocs, GC: s.NumGC})
	})
	m.HandleFunc("/debug/pprof/profile", pprof.Profile)
	m.HandleFunc("/debug/pprof/", pprof.Index)
	server := &http.Server{Handler: m}
	go func() { _ = server.Serve(ln) }()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return ln.Addr().String()
}
