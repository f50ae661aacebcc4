package outside

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestAHandshakeIsTimedBothWays(t *testing.T) {
	w := begin(t, withWatched(func() {}))
	began := time.Now()
	if got := w.raw("GET /nowhere HTTP/1.1\r\nHost: gateway\r\n\r\n"); got.StatusCode != http.StatusNotFound {
		t.Fatalf("%d", got.StatusCode)
	}
	ended := time.Now()
	_, readBy, writeBy := w.held(t).(*watched).seen()
	for what, by := range map[string][]time.Time{"read": readBy, "written": writeBy} {
		if len(by) == 0 || by[0].Before(began.Add(handshakeTimeout)) || by[0].After(ended.Add(handshakeTimeout)) {
			t.Errorf("from %v to %v, %s by %v", began, ended, what, by)
		}
	}
}

// TestAHandshakeEndsHoweverItIsSpelled sends what never becomes a request, and
// byte by byte more of it: no byte gives those behind it more time. A line that
// ends without a carriage return is refused at once.
func TestAHandshakeEndsHoweverItIsSpelled(t *testing.T) {
	const timeout = 100 * time.Millisecond
	w := begin(t, withTimeout(timeout))
	bare := strings.ReplaceAll(upgradeHeaders, "\r\n", "\n")
	var drips sync.WaitGroup
	defer drips.Wait()
	conns := map[string]net.Conn{}
	for _, head := range []string{
		"GET",
		"GET /requ",
		"GET /requests HTTP/1.1\n",
		"GET /requests HTTP/1.1\r\n",
		"GET /requests HTTP/1.1\n" + bare,
		"GET /requests HTTP/1.1\n" + bare + "\n",
		"GET /requests HTTP/1.1\r\n" + bare + "\r\n",
		"GET /requests HTTP/1.1\r\n" + upgradeHeaders + "\n",
		"\n\n",
		"\r\n\r\n",
		"GET /nowhere HTTP/1.1\r\nHost: g\r\n\r\nGET /requ",
	} {
		whole, dripped := w.plain(), w.plain()
		conns[head], conns[head+"..."] = whole, dripped
		for _, c := range []net.Conn{whole, dripped} {
			if _, err := io.WriteString(c, head); err != nil {
				t.Fatal(err)
			}
		}
		drips.Go(func() { drip(dripped, timeout/10) })
	}
	for head, c := range conns {
		response, err := io.ReadAll(c)
		_ = c.Close()
		if err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%.30q: %v, wanted the end", head, err)
		}
		want := "HTTP/1.1 408 "
		if malformed := strings.ReplaceAll(strings.TrimLeft(head, "\r\n"), "\r\n", ""); strings.Contains(malformed, "\n") {
			want = "HTTP/1.1 400 "
		}
		if len(response) != 0 && !strings.Contains(string(response), want) {
			t.Errorf("%.30q: %q", head, response)
		}
	}
	if opened, _ := w.counts.sockets(); opened != 0 {
		t.Errorf("%d sockets opened", opened)
	}
}

// drip sends a byte every so often, until the connection has ended.
func drip(c net.Conn, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for range tick.C {
		if _, err := io.WriteString(c, "x"); err != nil {
			return
		}
	}
}
