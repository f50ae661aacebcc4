package inside

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
)

// TestA10_UnreadBytesDoNotHideADeparture has a waiting caller send more before
// it leaves: nobody reads it.
func TestA10_UnreadBytesDoNotHideADeparture(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	ping := postHead(s.path, s.token, fmt.Sprintf("Content-Length: %d", len(pingBody))) + pingBody
	left := 0
	for what, more := range map[string]string{"a byte": "x", "a request": ping, "much": strings.Repeat("x", 3*maxHeader)} {
		for how, depart := range map[string]func(testing.TB, net.Conn){"reset": reset, "half": halfClose} {
			conn, _ := s.waiting(p, callBody)
			write(t, conn, more)
			depart(t, conn)
			left++
			w.observed.await(t, "exchange call-tool left", left)
			if how == "half" {
				w.readResponse(bufio.NewReader(conn), "POST").fails(200, codeInternal, "1", "ended its connection")
			}
			if t.Failed() {
				t.Fatal(what, how)
			}
		}
	}
}
