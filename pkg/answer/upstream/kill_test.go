package upstream

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tether is the variable with the address that a "tethered" process and its child hold a connection to while they live.
const tether = "UPSTREAM_TEST_TETHER"

// tethered is an MCP server that outlives its input and whoever started it, as does its child.
func tethered() int {
	conn, err := net.Dial("tcp", os.Getenv(tether))
	if err != nil {
		return 1
	}
	defer conn.Close()
	if os.Getenv(tether+"_CHILD") == "" {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), tether+"_CHILD=1")
		if err := child.Start(); err != nil {
			return 1
		}
		_ = newServer(nil).Run(context.Background(), &mcp.StdioTransport{})
	}
	_, _ = io.Copy(io.Discard, conn) // until the test is over
	return 0
}

// host is a program that uses an Upstream and exits without Close.
func host() int {
	u, err := New(Config{Command: []string{os.Args[0]}, Env: []string{commandRole + "=tethered"}, Logger: quiet})
	if err != nil {
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := u.Answer(ctx, codec.ListTools, []byte("null")); err != nil {
		return 1
	}
	fmt.Println("answered")
	_, _ = io.Copy(io.Discard, os.Stdin)
	KillCommands()
	os.Exit(0)
	return 0
}

func TestAProgramThatExitsAtOnceLeavesNoCommandBehind(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), commandRole+"=host", tether+"="+ln.Addr().String())
	input, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	for range cap(ended) { // the command and its child
		conn := accept(t, ln)
		defer conn.Close()
		go func() {
			_, err := conn.Read(make([]byte, 1))
			ended <- err
		}()
	}
	select {
	case err := <-ended:
		t.Fatalf("a process ended before its time: %v", err)
	default:
	}
	input.Close()
	if err := program.Wait(); err != nil {
		t.Fatal(err)
	}
	for range cap(ended) {
		soon(t, ended)
	}
}

func accept(t *testing.T, ln net.Listener) net.Conn {
	t.Helper()
	accepted := make(chan net.Conn, 1)
	go func() {
		if conn, err := ln.Accept(); err == nil {
			accepted <- conn
		}
	}()
	return soon(t, accepted)
}

func TestNoCommandStartsAfterTheKill(t *testing.T) {
	log := &journal{}
	u := open(t, helper(t, "server", log.logger()))
	mine := &commands{}
	u.dialer.(*commandDialer).among = mine
	ask(t, u, codec.ListTools, "null")
	mine.kill()
	until(t, "end of the process", func() bool { return u.Stats().Lost == 1 })
	discreet(t, fails(t, u, codec.ListTools, "null"), "cannot be reached")
	log.has(t, errKilled.Error())
	mine.mu.Lock()
	defer mine.mu.Unlock()
	if len(mine.running) != 0 || u.Stats().Sessions != 1 {
		t.Errorf("%d processes run, stats %+v", len(mine.running), u.Stats())
	}
}
