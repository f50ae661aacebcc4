//go:build linux

package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/diverge-network/gateway/bench/child"
	"github.com/diverge-network/gateway/bench/load"
	"github.com/diverge-network/gateway/bench/wire"
)

// centrifugoConfig leaves everything out that costs and is not used here, and takes the small buffers that it has options for.
func centrifugoConfig(port string) map[string]any {
	return map[string]any{
		"http_server":   map[string]any{"address": "127.0.0.1", "port": port},
		"client":        map[string]any{"insecure": true, "allowed_origins": []string{"*"}},
		"http_api":      map[string]any{"insecure": true},
		"uni_sse":       map[string]any{"enabled": true},
		"uni_websocket": map[string]any{"enabled": true, "read_buffer_size": 512, "write_buffer_size": 512, "use_write_buffer_pool": true},
		"prometheus":    map[string]any{"enabled": true},
		"debug":         map[string]any{"enabled": true},
		"log":           map[string]any{"level": "error"},
	}
}

// centrifugo starts a Centrifugo. Inside is its address, which serves everything.
func (s *stage) centrifugo(program string) (*child.Process, error) {
	dir, err := os.MkdirTemp("", "centrifugo")
	if err != nil {
		return nil, err
	}
	s.closing = append(s.closing, func() { _ = os.RemoveAll(dir) })
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(centrifugoConfig(port))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "config.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return nil, err
	}
	p, err := child.Start(exec.Command(program, "-c", file), nil)
	if err != nil {
		return nil, err
	}
	s.closing = append(s.closing, p.Stop)
	p.Inside = "127.0.0.1:" + port
	return p, reachable(p, p.Inside)
}

// centrifugoPath is a connection that hears the channel, over a unidirectional transport: sse or websocket.
func centrifugoPath(transport string) string {
	return "/connection/uni_" + transport + "?cf_connect=" + url.QueryEscape(`{"subs":{"fan":{}}}`)
}

// centrifugoHub is a channel with so many event streams, published to by its HTTP API on one connection.
func centrifugoHub(c *child.Process, window, readers int) (h *hub, err error) {
	text := notification(notificationText)
	body := `{"channel":"fan","data":` + text + `}`
	publication, err := load.NewPlain(fmt.Sprintf("POST /api/publish HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	if err != nil {
		return nil, err
	}
	p, err := wire.Dial(c.Inside)
	if err != nil {
		return nil, err
	}
	if h, err = newHub(p, publication, window); err != nil {
		return nil, err
	}
	if err := h.AddDrain(p); err != nil {
		return h, err
	}
	for range readers {
		p, err := centrifugoStream(c)
		if err != nil {
			return h, err
		}
		if err := h.AddReader(p, true); err != nil {
			return h, err
		}
	}
	return h, nil
}

// centrifugoStream is an event stream that has heard that it is subscribed.
func centrifugoStream(c *child.Process) (wire.Peer, error) {
	return subscribed(c, wire.Listen(centrifugoPath("sse"), "x"))
}

// centrifugoSocket is a WebSocket that has.
func centrifugoSocket(c *child.Process) (wire.Peer, error) {
	return subscribed(c, wire.Upgrade(centrifugoPath("websocket")))
}

func subscribed(c *child.Process, request []byte) (wire.Peer, error) {
	p, err := wire.Dial(c.Inside)
	if err != nil {
		return p, err
	}
	_, err = p.Ask(request, make([]byte, 8<<10), func(b []byte) bool { return bytes.Contains(b, []byte(`"subs":`)) })
	if err != nil {
		p.Close()
	}
	return p, err
}

// centrifugoMemory collects its garbage, and says what is left.
func centrifugoMemory(c *child.Process) (m child.Memory, err error) {
	for range 2 {
		if err := get("http://" + c.Inside + "/debug/pprof/heap?gc=1"); err != nil {
			return m, err
		}
	}
	samples, err := child.Metrics(c.Inside)
	if err != nil {
		return m, err
	}
	m = child.Memory{Heap: int64(samples["go_memstats_heap_alloc_bytes"]), Stack: int64(samples["go_memstats_stack_inuse_bytes"])}
	m.RSS, _, err = child.Resident(c.PID())
	return m, err
}

// reachable waits until something listens.
func reachable(p *child.Process, addr string) error {
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(20 * time.Millisecond) {
		if !p.Running() {
			return fmt.Errorf("it ended: %s", p.Said())
		}
		if c, err := wire.Dial(addr); err == nil {
			c.Close()
			return nil
		}
	}
	return fmt.Errorf("nothing listens on %s: %s", addr, p.Said())
}
