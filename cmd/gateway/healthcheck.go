package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

type healthcheckCmd struct {
	Ops     string        `help:"The gateway's --ops address [${default}]." default:"127.0.0.1:9090" env:"GATEWAY_OPS" placeholder:"HOST:PORT"`
	Timeout time.Duration `help:"How long an answer may take [${default}]." default:"3s" placeholder:"DURATION"`
}

// Run asks /readyz once; no error means ready.
func (h *healthcheckCmd) Run(w *world) error {
	if h.Timeout <= 0 {
		return usageError{fmt.Errorf("--timeout: %s leaves no time for an answer", h.Timeout)}
	}
	host, port, err := net.SplitHostPort(h.Ops)
	if err != nil {
		return usageError{fmt.Errorf("--ops: %q is no HOST:PORT", h.Ops)}
	}
	// The same value serves --ops of the gateway, where these mean every address of this machine.
	switch host {
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	ctx, cancel := context.WithTimeout(w.ctx, h.Timeout)
	defer cancel()
	url := "http://" + net.JoinHostPort(host, port) + "/readyz"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return usageError{fmt.Errorf("--ops: %q makes no URL: %w", h.Ops, err)}
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no gateway listens on --ops %s", h.Ops)
	case err != nil:
		return fmt.Errorf("asking %s: %w", url, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 512))
	if err != nil {
		return fmt.Errorf("reading %s: %w", url, err)
	}
	said := strings.TrimSpace(string(body))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s said %s: %s", url, response.Status, said)
	}
	_, err = fmt.Fprintln(w.stdout, said)
	return err
}
