package main

import (
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/diverge-network/gateway/pkg/mux"
)

const (
	defaultContainer = "default" // whose paths have no prefix (protocol G2)
	everyContainer   = "*"
)

type answerCmd struct {
	Gateway   string   `help:"The gateway's outside listener [${default}]." default:"ws://127.0.0.1:14979" env:"GATEWAY_URL" placeholder:"URL"`
	Container []string `help:"Container to answer for; repeatable; * is every container that the gateway lists, as they come and go [${default}]." default:"${default_container}" env:"GATEWAY_CONTAINER" placeholder:"ID" sep:","`

	accessFlags

	Upstream        string `help:"MCP server to answer from: the URL of its Streamable HTTP endpoint." env:"GATEWAY_UPSTREAM" placeholder:"URL"`
	UpstreamCommand string `help:"MCP server to answer from: a command that speaks MCP on its standard input and output. One process per session. Quote as for a shell; nothing is expanded." env:"GATEWAY_UPSTREAM_COMMAND" placeholder:"'CMD ARG …'"`

	Drain time.Duration `help:"How long calls that are running may go on after SIGTERM; what is not done by then is asked again of another server [${default}]." default:"25s" env:"GATEWAY_DRAIN" placeholder:"DURATION"`

	UpstreamSessions string `help:"Sessions with the MCP server: per-container, begun with a container's first ask, or one shared by all [${default}]." enum:"per-container,shared" default:"per-container" env:"GATEWAY_UPSTREAM_SESSIONS" placeholder:"per-container|shared"`
}

// Run answers until the world's context ends.
func (a *answerCmd) Run(w *world) error {
	p, err := a.provider(w)
	if err != nil {
		return usageError{err}
	}
	return p.run(w.ctx)
}

// provider is what the flags ask for; the error names the one that cannot be meant.
func (a *answerCmd) provider(w *world) (*provider, error) {
	if err := checkURL("--gateway", a.Gateway, "ws", "wss"); err != nil {
		return nil, err
	}
	if strings.Contains(a.Gateway, "/containers/") {
		return nil, fmt.Errorf("--gateway: %q names a container: give the gateway's own URL, and the container with --container", a.Gateway)
	}
	for i, id := range a.Container {
		switch {
		case id == everyContainer && len(a.Container) == 1:
		case id == everyContainer:
			return nil, fmt.Errorf("--container: %q is every container: name no other", id)
		case !mux.ValidID([]byte(id)):
			return nil, fmt.Errorf("--container: %q is no container id: 1 to 128 characters of A-Z a-z 0-9 . _ -, not starting with a dot", id)
		case slices.Contains(a.Container[:i], id):
			return nil, fmt.Errorf("--container: %q is named twice: a container has one server at a time", id)
		}
	}
	p := &provider{gateway: a.Gateway, containers: a.Container, upstream: a.Upstream, shared: a.UpstreamSessions == "shared", drain: a.Drain, log: w.log}
	var err error
	if p.token, err = a.bearer(); err != nil {
		return nil, err
	}
	if p.tls, err = a.tls(a.Gateway); err != nil {
		return nil, err
	}
	if a.Drain <= 0 {
		return nil, fmt.Errorf("--drain: %q is no time to wait: use a duration such as 25s", a.Drain)
	}
	switch {
	case a.Upstream == "" && a.UpstreamCommand == "":
		return nil, errors.New("--upstream or --upstream-command is missing: name the MCP server to answer from")
	case a.Upstream != "" && a.UpstreamCommand != "":
		return nil, fmt.Errorf("--upstream %q and --upstream-command %q exclude each other: choose one MCP server to answer from", a.Upstream, a.UpstreamCommand)
	case a.Upstream != "":
		return p, checkURL("--upstream", a.Upstream, "http", "https")
	}
	words, err := splitWords(a.UpstreamCommand)
	if err != nil {
		return nil, fmt.Errorf("--upstream-command: %q %w", a.UpstreamCommand, err)
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, fmt.Errorf("--upstream-command: %w", err)
	}
	p.command = words
	return p, nil
}

// checkURL wants an absolute URL of one of the schemes, the last of which is the one with TLS.
func checkURL(flag, value string, schemes ...string) error {
	u, err := url.Parse(value)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" {
		return fmt.Errorf("%s: %q is no %s:// or %s:// URL", flag, value, schemes[0], schemes[1])
	}
	return nil
}
