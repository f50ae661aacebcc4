package outside

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

const upgradeHeaders = "Host: gateway\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

// reply is an HTTP response with its body read.
type reply struct {
	*http.Response
	text string
}

// raw sends bytes on a connection of their own and reads one HTTP response.
func (w *world) raw(request string) reply {
	w.t.Helper()
	c := w.plain()
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		w.t.Fatal(err)
	}
	return readReply(w.t, bufio.NewReader(c))
}

func readReply(t testing.TB, r *bufio.Reader) reply {
	t.Helper()
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("no HTTP response: %v", err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusSwitchingProtocols {
		return reply{response, ""}
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("the body of a %d: %v", response.StatusCode, err)
	}
	return reply{response, string(text)}
}

// oneLineOfText fails unless a refusal says why, in one line of plain text.
func oneLineOfText(t testing.TB, r wstest.Response) {
	t.Helper()
	if got := r.Header.Get("Content-Type"); got != textPlain {
		t.Errorf("%d with Content-Type %q", r.Status, got)
	}
	if strings.Count(r.Body, "\n") != 1 || !strings.HasSuffix(r.Body, "\n") || len(r.Body) < 10 {
		t.Errorf("%d with the body %q, wanted one line", r.Status, r.Body)
	}
	if r.Header.Get("Date") == "" || len(r.Header.Values("Server")) != 0 {
		t.Errorf("%d with the headers %v, wanted Date and no Server", r.Status, r.Header)
	}
}

// reset ends a connection with a TCP reset.
func reset(t testing.TB, c net.Conn) {
	t.Helper()
	if err := c.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}
