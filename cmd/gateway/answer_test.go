package main

import (
	"context"
	"os"
	"testing"
)

// showThrough carries out every step of the demo's client in one container.
func showThrough(t *testing.T, inside, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client, err := connectDemoClient(ctx, "http://"+inside+"/containers/"+id+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	showAll(t, ctx, client, id)
}

// showAll carries out every step, and closes the client.
func showAll(t *testing.T, ctx context.Context, client *demoClient, id string) {
	t.Helper()
	for _, step := range client.steps() {
		if _, err := step.show(ctx); err != nil {
			t.Errorf("%s: %s: %v", id, step.name, err)
		}
	}
	if err := client.close(); err != nil {
		t.Error(err)
	}
}

func TestAnswerServesEachContainerThatIsNamed(t *testing.T) {
	gateway, outside, inside, _ := serveOnFreePorts(t)
	server, err := startDemoServer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answering := begin(t, "answer", "--gateway", "ws://"+outside, "--container", "red", "--container", "blue", "--upstream", server.url)
	showThrough(t, inside, "red")
	showThrough(t, inside, "blue")
	answering.end(t)
	if err := server.close(); err != nil {
		t.Error(err)
	}
	gateway.end(t)
}

func TestAnswerServesEveryContainerThereIs(t *testing.T) {
	for _, sessions := range []string{"per-container", "shared"} {
		t.Run(sessions, func(t *testing.T) {
			gateway, outside, inside, _ := serveOnFreePorts(t)
			server, err := startDemoServer(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			answering := begin(t, "answer", "--gateway", "ws://"+outside, "--container", "*", "--upstream", server.url, "--upstream-sessions", sessions)
			for _, id := range []string{"red", "green", "blue"} {
				showThrough(t, inside, id)
			}
			// Whichever side ends first.
			if sessions == "shared" {
				gateway.end(t)
			}
			answering.end(t)
			if err := server.close(); err != nil {
				t.Error(err)
			}
			if sessions != "shared" {
				gateway.end(t)
			}
		})
	}
}

func TestAnswerStartsACommandForAContainer(t *testing.T) {
	gateway, outside, inside, _ := serveOnFreePorts(t)
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(asServer, "1")
	t.Setenv("GATEWAY_CONTAINER", "green")
	answering := begin(t, "answer", "--gateway", "ws://"+outside, "--upstream-command", "'"+executable+"' an argument")
	showThrough(t, inside, "green")
	answering.end(t)
	gateway.end(t)
}
