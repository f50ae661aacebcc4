//go:build linux

package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/diverge-network/gateway/bench/child"
	"github.com/diverge-network/gateway/bench/floor"
	"github.com/diverge-network/gateway/bench/load"
)

// Installed are the peers that could be installed; what could not is empty.
type Installed struct {
	Supergateway, MCPProxy, Everything string // scripts for node
	Centrifugo                         string // program
	Skipped                            []string
}

// Install installs the peers in dir, bench/peers, each in a folder of its own, as their lock files say.
func Install(dir string) (in Installed) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		in.skip("all peers", err)
		return in
	}
	node := filepath.Join(dir, "node")
	if err := installNode(node); err != nil {
		in.skip("supergateway, mcp-proxy and server-everything", err)
	} else {
		modules := filepath.Join(node, "node_modules")
		in.Supergateway = in.script(modules, "supergateway/dist/index.js")
		in.MCPProxy = in.script(modules, "mcp-proxy/dist/bin/mcp-proxy.mjs")
		in.Everything = in.script(modules, "@modelcontextprotocol/server-everything/dist/index.js")
	}
	centrifugo := filepath.Join(dir, "centrifugo")
	program := filepath.Join("bin", "centrifugo")
	if err := run(centrifugo, "go", "build", "-o", program, "github.com/centrifugal/centrifugo/v6"); err != nil {
		in.skip("Centrifugo", err)
	} else {
		in.Centrifugo = filepath.Join(centrifugo, program)
	}
	in.skip("mcp-contextforge-gateway 1.1.0", errPython)
	return in
}

var errPython = errors.New("it wants Python 3.12 or newer, and is not set up here")

// installNode installs what the lock file says, unless it is installed.
func installNode(dir string) error {
	lock, err := os.Stat(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	// npm writes this last.
	if installed, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json")); err == nil && installed.ModTime().After(lock.ModTime()) {
		return nil
	}
	return run(dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
}

func (in *Installed) skip(what string, err error) {
	in.Skipped = append(in.Skipped, fmt.Sprintf("%s: %v", what, err))
}

func (in *Installed) script(modules, path string) string {
	full := filepath.Join(modules, path)
	if _, err := os.Stat(full); errors.Is(err, fs.ErrNotExist) {
		in.skip(path, err)
		return ""
	}
	return full
}

func run(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		last := strings.TrimSpace(string(out))
		if at := strings.LastIndexByte(last, '\n'); at >= 0 {
			last = last[at+1:]
		}
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, last)
	}
	return nil
}

// Peers are ways from Streamable HTTP to an MCP server that speaks stdio: the same server, one process of it, with one session.
type Peers struct {
	Fronts []Front `json:"fronts"`
	// Gateway is the gateway with a provider's server that has its answers ready, in the same turns as those with the stub.
	Gateway *Series `json:"gateway"`

	// The Go SDK's server directly, and behind gateway and answer over Streamable HTTP.
	Direct *Series `json:"direct"`
	Behind *Series `json:"behind"`
}

// Front is one of them.
type Front struct {
	Name     string  `json:"name"`
	Upstream string  `json:"upstream"`
	Many     *Series `json:"many"`  // 64 callers
	Alone    *Series `json:"alone"` // one
}

// Names of the upstreams and of the fronts.
const (
	UpstreamStub       = "stdio stub"
	UpstreamEverything = "server-everything"

	FrontGateway      = "gateway serve + answer"
	FrontSupergateway = "supergateway 4.0.0"
	FrontMCPProxy     = "mcp-proxy 6.7.19"
)

// front is a running one: where its endpoint is, and the processes that it consists of, without the upstream's.
type front struct {
	addr, path, session string
	pids                []int
}

// MeasurePeers measures them.
func MeasurePeers(p Plan, program string, in Installed) (*Peers, error) {
	stub, err := child.StdioCommand()
	if err != nil {
		return nil, err
	}
	out := new(Peers)
	p.Rounds = pick(p, 5, 2)
	upstreams := []struct{ name, command string }{{UpstreamStub, stub}}
	if in.Everything != "" {
		upstreams = append(upstreams, struct{ name, command string }{UpstreamEverything, "node " + in.Everything + " stdio"})
	}
	for _, u := range upstreams {
		if err := out.measure(p, program, in, u.name, u.command); err != nil {
			return nil, fmt.Errorf("in front of %s: %w", u.name, err)
		}
	}
	return out, out.measureSDK(p, program)
}

func (out *Peers) measure(p Plan, program string, in Installed, upstream, command string) error {
	var s stage
	defer s.close()
	var entrants []entrant
	names := []string{FrontGateway}
	add := func(name string, f front, err error) {
		if s.err == nil && err != nil {
			s.err = fmt.Errorf("%s: %w", name, err)
		}
		if s.err != nil {
			return
		}
		entrants = append(entrants,
			crewOf(name, s.crew(newPosts(f.addr, f.path, f.session, callers, false, revision)), f.pids...),
			crewOf(name+", alone", s.crew(newPosts(f.addr, f.path, f.session, 1, false, revision)), f.pids...))
	}
	f, err := s.answered(program, "--upstream-command", command)
	add(FrontGateway, f, err)
	if in.Supergateway != "" {
		f, err := s.proxy(func(port string) []string {
			return []string{"node", in.Supergateway, "--stdio", command, "--outputTransport", "streamableHttp", "--stateful", "--port", port, "--logLevel", "none"}
		})
		add(FrontSupergateway, f, err)
		names = append(names, FrontSupergateway)
	}
	if in.MCPProxy != "" {
		f, err := s.proxy(func(port string) []string {
			return append([]string{"node", in.MCPProxy, "--host", "127.0.0.1", "--port", port, "--server", "stream", "--"}, strings.Fields(command)...)
		})
		add(FrontMCPProxy, f, err)
		names = append(names, FrontMCPProxy)
	}
	g := s.gateway(program)
	alone := s.exchanges(g.Addresses, "alone", 1, callers, floor.Result, false)
	if s.err != nil {
		return s.err
	}
	got, err := contest(p, append(entrants, crewOf("gateway", alone, g.PID()))...)
	if err != nil {
		return err
	}
	if upstream == UpstreamStub {
		out.Gateway = got["gateway"]
	}
	for _, name := range names {
		out.Fronts = append(out.Fronts, Front{Name: name, Upstream: upstream, Many: got[name], Alone: got[name+", alone"]})
	}
	return nil
}

const revision = "MCP-Protocol-Version: 2025-11-25"

// answered is a gateway, and its answer in front of an upstream.
func (s *stage) answered(program string, upstream ...string) (f front, err error) {
	g := s.gateway(program)
	if s.err != nil {
		return f, s.err
	}
	answer, err := child.Start(exec.Command(program, append([]string{"answer", "--gateway", "ws://" + g.Outside, "--container", "peer", "--log-level", "error"}, upstream...)...), nil)
	if err != nil {
		return f, err
	}
	s.closing = append(s.closing, answer.Stop)
	f = front{addr: g.Inside, path: endpoint("peer"), pids: []int{g.PID(), answer.PID()}}
	f.session, err = begin(f.addr, f.path, revision)
	return f, err
}

// proxy is a process that listens on a port, with its upstream below it.
func (s *stage) proxy(command func(port string) []string) (f front, err error) {
	port, err := freePort()
	if err != nil {
		return f, err
	}
	args := command(port)
	p, err := child.Start(exec.Command(args[0], args[1:]...), nil)
	if err != nil {
		return f, err
	}
	s.closing = append(s.closing, p.Stop)
	f = front{addr: "127.0.0.1:" + port, path: "/mcp", pids: []int{p.PID()}}
	if err := reachable(p, f.addr); err != nil {
		return f, err
	}
	if f.session, err = begin(f.addr, f.path); err != nil {
		return f, fmt.Errorf("%w; it said: %s", err, p.Said())
	}
	return f, nil
}

// measureSDK has the Go SDK's server directly, and behind the gateway.
func (out *Peers) measureSDK(p Plan, program string) error {
	var s stage
	defer s.close()
	direct, upstream := s.role("sdk"), s.role("sdk")
	crew := s.sdk(direct.Inside)
	if s.err != nil {
		return s.err
	}
	f, err := s.answered(program, "--upstream", "http://"+upstream.Inside+sdkPath)
	if err != nil {
		return err
	}
	behind := s.crew(newPosts(f.addr, f.path, f.session, callers, false, revision))
	if s.err != nil {
		return s.err
	}
	got, err := contest(p, crewOf("direct", crew, direct.PID()), crewOf("behind", behind, f.pids...))
	out.Direct, out.Behind = got["direct"], got["behind"]
	return err
}

// Of is a front, or nil.
func (out *Peers) Of(name, upstream string) *Front {
	for i, f := range out.Fronts {
		if f.Name == name && f.Upstream == upstream {
			return &out.Fronts[i]
		}
	}
	return nil
}

// preflight makes one call, which must be answered with a result.
func preflight(addr string, r load.Request) error {
	response, err := ask(addr, r.Bytes)
	if err != nil {
		return err
	}
	for _, bad := range []string{`"isError":true`, `"error":`} {
		if strings.Contains(string(response), bad) {
			return fmt.Errorf("a call was answered with %.500q", response)
		}
	}
	return nil
}
