package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/test/stack"
)

// rig is a gateway process, and what a test needs around it.
type rig struct {
	t       *testing.T
	dir     string
	flags   []string
	ledger  *ledger
	gateway *stack.Process
	lives   int

	outside, inside, ops string
}

var served = regexp.MustCompile(`outside ws://(\S+)\s+inside http://(\S+)/mcp\s+ops http://(\S+)/metrics`)

func newRig(t *testing.T, flags ...string) *rig {
	t.Helper()
	addresses, err := freeAddresses(3)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: t.TempDir(), flags: flags, ledger: newLedger(), outside: addresses[0], inside: addresses[1], ops: addresses[2]}
	r.startGateway()
	t.Cleanup(func() { r.gateway.Kill() })
	return r
}

func (r *rig) startGateway() {
	r.t.Helper()
	r.lives++
	cmd := exec.Command(program, append([]string{"serve", "--outside", r.outside, "--inside", r.inside, "--ops", r.ops,
		"--log-format", "json", "--log-level", "debug"}, r.flags...)...)
	var err error
	if r.gateway, err = stack.Start(fmt.Sprintf("gateway-%d", r.lives), cmd, r.dir); err != nil {
		r.t.Fatal(err)
	}
	line, err := r.gateway.Next(startWithin)
	if err != nil || !served.MatchString(line) {
		r.t.Fatalf("gateway serve began with %q, %v", line, err)
	}
}

// answer starts gateway answer, in front of an MCP server of this process.
func (r *rig) answer(gateway, container string) (*upstream, *stack.Process) {
	r.t.Helper()
	u := newUpstream(r.ledger, r.t.Errorf)
	if err := u.start(); err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(program, "answer", "--gateway", "ws://"+gateway, "--container", container, "--upstream", u.url(), "--log-format", "json")
	p, err := stack.Start("answer", cmd, r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		p.Kill()
		_ = u.stop() // the test may have stopped it
	})
	return u, p
}

// caller is a client of a container.
func (r *rig) caller(container string) *caller {
	r.t.Helper()
	c := &caller{container: container, address: r.inside}
	if err := c.initialize(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.drop)
	return c
}

// begin makes a call whose tool waits for the page's release, if it shall.
func (r *rig) begin(c *caller, word string, held bool) (*page, <-chan ending) {
	p := r.ledger.enter(word, false, held)
	ch := make(chan ending, 1)
	go func() { ch <- c.call(arguments{Say: word}, false) }()
	return p, ch
}

// told waits for the end of a call.
func (r *rig) told(call <-chan ending) ending {
	r.t.Helper()
	select {
	case e := <-call:
		return e
	case <-time.After(hang):
		r.t.Fatal("a caller was told nothing")
		panic("not reached")
	}
}

// hand is a provider that does what a test says.
type hand struct {
	*rig
	container string
	line      *path
}

func (r *rig) hand(container string) *hand {
	r.t.Helper()
	h := &hand{rig: r, container: container}
	h.connect()
	return h
}

// connect opens /requests, as soon as the gateway lets it.
func (h *hand) connect() {
	h.t.Helper()
	for deadline := time.Now().Add(hang); ; {
		line, end, err := dial(context.Background(), h.outside, "/containers/"+h.container+"/requests")
		if err == nil {
			h.line = line
			h.t.Cleanup(end)
			_ = line.SetDeadline(time.Now().Add(hang))
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatal(err)
		}
		rest(h.t.Context(), 10*time.Millisecond)
	}
}

// next is the next frame on /requests that is no ask for notifications.
func (h *hand) next() (op byte, message []byte) {
	h.t.Helper()
	for {
		op, message, err := readFrame(h.line.in)
		switch {
		case err != nil:
			h.t.Fatalf("/requests of %s: %v", h.container, err)
		case op == opBinary && message[4] == kindNotifications:
		default:
			return op, message
		}
	}
}

func (h *hand) ask() ask {
	h.t.Helper()
	op, message := h.next()
	if op != opBinary {
		h.t.Fatalf("a frame of opcode %d, wanted an ask", op)
	}
	return ask{uint32(message[0])<<24 | uint32(message[1])<<16 | uint32(message[2])<<8 | uint32(message[3]), message[4], message[5:]}
}

func (h *hand) open(a ask) *path {
	h.t.Helper()
	p, end, err := dial(context.Background(), h.outside, fmt.Sprintf("/containers/%s/mcp/call-tool/%d", h.container, a.channel))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(end)
	return p
}

// give answers on an open path.
func (h *hand) give(p *path, a ask) {
	h.t.Helper()
	message, err := carryOut(h.t.Context(), h.ledger, a.payload)
	if err != nil {
		h.t.Fatal(err)
	}
	p.send(message)
}

// get asks the ops listener.
func (r *rig) get(path string) (status int) {
	transport := &http.Transport{DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+r.ops+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

func (r *rig) eventually(what string, within time.Duration, is func() bool) time.Duration {
	r.t.Helper()
	began := time.Now()
	for !is() {
		if time.Since(began) > within {
			r.t.Fatalf("not within %v: %s", within, what)
		}
		rest(r.t.Context(), 5*time.Millisecond)
	}
	return time.Since(began)
}

// raw sends a request to the inside listener on a connection of its own.
func (r *rig) raw(bytes []byte) (*http.Response, net.Conn) {
	r.t.Helper()
	conn, err := (&caller{address: r.inside}).take()
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(hang))
	if _, err := conn.Write(bytes); err != nil {
		r.t.Fatal(err)
	}
	response, err := http.ReadResponse(conn.in, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return response, conn
}

// subscribe opens a subscription of the stateless revision, whose acknowledgement has come.
func (r *rig) subscribe(container string) <-chan string {
	r.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen",
		"params": map[string]any{"notifications": map[string]any{"toolsListChanged": true}, "_meta": statelessMeta()}})
	if err != nil {
		r.t.Fatal(err)
	}
	head := strings.Replace(string(httpRequest(container, "", "subscriptions/listen", "", body)), "Mcp-Name: \r\n", "", 1)
	response, _ := r.raw([]byte(head))
	if response.StatusCode != http.StatusOK {
		r.t.Fatalf("subscriptions/listen: %s", response.Status)
	}
	return r.events(response)
}

// events are a stream's data lines; closed at its end, after "end in order" or why it broke.
func (r *rig) events(response *http.Response) <-chan string {
	events := make(chan string, 16)
	go func() {
		defer close(events)
		b := make([]byte, 4096)
		var rest string
		for {
			n, err := response.Body.Read(b)
			rest += string(b[:n])
			for {
				line, after, whole := strings.Cut(rest, "\n")
				if !whole {
					break
				}
				rest = after
				if data, ok := strings.CutPrefix(line, "data: "); ok {
					events <- data
				}
			}
			switch {
			case err == io.EOF:
				events <- "end in order"
				return
			case err != nil:
				events <- err.Error()
				return
			}
		}
	}()
	return events
}

// event is the next of a stream.
func (r *rig) event(events <-chan string) string {
	r.t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(hang):
		r.t.Fatal("no event came")
		panic("not reached")
	}
}

// exited waits for the gateway's end and returns its status.
func (r *rig) exited() error { return r.gateway.Await(hang) }
