package main

import (
	"context"
	"net"
	"regexp"
	"strings"
	"testing"
)

func TestDemoOnceShowsEveryKindOfExchange(t *testing.T) {
	code, stdout, stderr := runOnce(t, "demo", "--once")
	if code != exitOK {
		t.Fatalf("status %d\n%s%s", code, stdout, stderr)
	}
	for _, step := range []string{"list tools", "list resources", "call tool", "read resource", "notifications"} {
		if !regexp.MustCompile(`(?m)^  ` + step + ` +ok `).MatchString(stdout) {
			t.Errorf("no %s in:\n%s", step, stdout)
		}
	}
}

func TestDemoKeepsServingAndUsesFreePortsForThoseTaken(t *testing.T) {
	// Whether or not something else has them already, the default ports are taken now.
	for _, address := range []string{"127.0.0.1:14979", "127.0.0.1:8080", "127.0.0.1:9090"} {
		if ln, err := net.Listen("tcp", address); err == nil {
			defer ln.Close()
		}
	}
	r := begin(t, "demo")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r.stdout.await(t, ctx, "Ctrl-C ends it.")
	for _, flag := range []string{"--outside", "--inside", "--ops"} {
		if !strings.Contains(r.stdout.String(), "is taken: using a free port for "+flag) {
			t.Errorf("%s is not said to be taken:\n%s", flag, r.stdout)
		}
	}
	url := regexp.MustCompile(`(?m)^  (http://\S+/mcp)$`).FindStringSubmatch(r.stdout.String())
	if url == nil {
		t.Fatalf("no URL in:\n%s", r.stdout)
	}
	client, err := connectDemoClient(ctx, url[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.callTool(ctx); err != nil {
		t.Error(err)
	}
	if err := client.close(); err != nil {
		t.Error(err)
	}
	r.end(t)
}
