package stack

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func start(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start("script", exec.Command("sh", "-c", script), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLinesAreGivenAsTheyCome(t *testing.T) {
	p := start(t, "echo one; echo two; exec sleep 600")
	for _, want := range []string{"one", "two"} {
		if line, err := p.Next(time.Minute); line != want || err != nil {
			t.Errorf("%q, %v", line, err)
		}
	}
	if err := p.Stop(time.Minute); err != nil {
		t.Error(err)
	}
}

func TestABadEndIsAnErrorThatTellsWhatWasWritten(t *testing.T) {
	err := start(t, "echo this is why >&2; exit 3").Await(time.Minute)
	if err == nil || !strings.Contains(err.Error(), "this is why") || !strings.Contains(err.Error(), "exit status 3") {
		t.Error(err)
	}
}

func TestAProcessThatDoesNotEndIsKilled(t *testing.T) {
	p := start(t, "trap '' TERM; echo ready; while :; do sleep 0.01; done")
	if _, err := p.Next(time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(time.Millisecond); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Error(err)
	}
}

func TestNothingOfTheGroupIsLeft(t *testing.T) {
	if childAttributes() == nil {
		t.Skip("there are no groups here")
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	// Both processes hold the pipe, as their descriptor 3.
	cmd := exec.Command("sh", "-c", "sleep 600 & echo ready; exec sleep 600")
	cmd.ExtraFiles = []*os.File{writer}
	p, err := Start("script", cmd, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Next(time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(time.Minute); err != nil {
		t.Error(err)
	}
	if err := reader.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("somebody still holds the pipe: %v", err)
	}
}

func TestSettingsOfTheGatewayAreNotInherited(t *testing.T) {
	t.Setenv("GATEWAY_INSIDE", "127.0.0.1:1")
	p := start(t, "env | grep ^GATEWAY_ || echo none")
	if line, err := p.Next(time.Minute); line != "none" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	if err := p.Await(time.Minute); err != nil {
		t.Error(err)
	}
}

func TestAProcessThatHasNoHandlerForSIGTERMEndsWell(t *testing.T) {
	p := start(t, "echo ready; exec sleep 600")
	if _, err := p.Next(time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(time.Minute); err != nil {
		t.Error(err)
	}
	if p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Error("it was not ended by SIGTERM")
	}
}
