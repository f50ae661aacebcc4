package attack

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// readBody reads the response to a call.
func readBody(k *call) (string, error) {
	r, err := http.ReadResponse(bufio.NewReader(k.conn), &http.Request{Method: http.MethodPost})
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	_ = k.conn.Close()
	return string(body), err
}

// cuts are the ways in which a connection ends in the middle.
var cuts = map[string]func(*world, *net.TCPConn){
	"reset": (*world).reset,
	"end":   func(_ *world, conn *net.TCPConn) { _ = conn.Close() },
}

// TestAHandshakeMayBeCutAtEveryByte has no answer path be opened, and no container
// claimed, by half a request, and every descriptor come back.
func TestAHandshakeMayBeCutAtEveryByte(t *testing.T) {
	w := begin(t)
	w.survives(func() {
		c := w.container("cut")
		defer c.leave()
		k := c.call()
		ask := c.ask()
		for _, target := range []string{c.answerPath(ask), c.path("/requests"), "/containers/cut2/requests", "/containers"} {
			request := get(target) + upgrade + "\r\n"
			for _, cut := range cuts {
				for n := range len(request) {
					tried.Add(1)
					conn := w.dial(w.outside)
					if _, err := io.WriteString(conn, request[:n]); err != nil {
						t.Fatal(err)
					}
					cut(w, conn)
				}
			}
		}
		k.answer(ask)
		k.hears()
		if n := w.metric("gateway_sockets_opened_total", `path="containers"`); n != 0 {
			t.Errorf("%d lists of containers were opened", n)
		}
	})
}

// TestARequestMayBeCutAtEveryByte is the same on the inside: nothing is asked for
// half a request.
func TestARequestMayBeCutAtEveryByte(t *testing.T) {
	w := begin(t)
	w.survives(func() {
		c := w.container("cut")
		defer c.leave()
		const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`
		for _, request := range []string{c.post(body), c.head("Transfer-Encoding: chunked") + fmt.Sprintf("%x;x=y\r\n%s\r\n0\r\nA: b\r\n\r\n", len(body), body)} {
			for _, cut := range cuts {
				for n := range len(request) {
					tried.Add(1)
					conn := w.dial(w.inside)
					if _, err := io.WriteString(conn, request[:n]); err != nil {
						t.Fatal(err)
					}
					cut(w, conn)
				}
			}
		}
		c.exchange() // the first that was asked
		if n := w.metric("gateway_exchanges_total", `kind="call-tool"`); n != 2 {
			t.Errorf("%d exchanges, wanted the bystander's and this one's", n)
		}
	})
}

// TestAnAnswerMayBeCutAtEveryByte cuts an answer path in its frame's header, its
// payload and its Close: the call is asked again, and answered once.
func TestAnAnswerMayBeCutAtEveryByte(t *testing.T) {
	w := begin(t)
	w.survives(func() {
		c := w.container("cut")
		defer c.leave()
		again := 0
		for _, cut := range cuts {
			for n := 0; ; n++ {
				k := c.call()
				p := c.open(c.ask())
				sent := join(whole(wstest.OpBinary, k.result()), whole(wstest.OpClose, wstest.CloseBody(1000, "")))
				if n == len(sent) {
					p.Raw(sent)
					k.hears()
					_ = p.NC.Close()
					break
				}
				tried.Add(1)
				p.Raw(sent[:n])
				cut(w, p.NC)
				k.answer(c.ask())
				k.hears()
				again++
			}
		}
		if n := w.metric("gateway_asks_reasked_total", `reason="broke"`); n != again {
			t.Errorf("%d were asked again, wanted %d", n, again)
		}
	})
}

// TestAConnectionMayBeResetRightBehindItsRequest has the 101 meet the reset.
func TestAConnectionMayBeResetRightBehindItsRequest(t *testing.T) {
	w := begin(t)
	w.survives(func() {
		c := w.container("cut")
		defer c.leave()
		for range 50 {
			tried.Add(1)
			k := c.call()
			ask := c.ask()
			conn := w.dial(w.outside)
			if _, err := io.WriteString(conn, get(c.answerPath(ask))+upgrade+"\r\n"); err != nil {
				t.Fatal(err)
			}
			w.reset(conn)
			// The path was opened, and has broken, or it was not: then it still can be.
			p, _, err := wstest.Try(w.outside, c.answerPath(ask))
			if err != nil {
				t.Fatal(err)
			}
			if p != nil {
				p.BinaryAndClose(k.result())
			} else {
				k.answer(c.ask())
			}
			k.hears()
			if p != nil {
				_ = p.NC.Close()
			}
		}
	})
}

// TestRequestsMayBeResetWithAsksUnopened has the asks come again, under channels that
// the old ones do not open.
func TestRequestsMayBeResetWithAsksUnopened(t *testing.T) {
	w := begin(t)
	w.survives(func() {
		c := w.container("cut")
		for range 30 {
			tried.Add(1)
			k := c.call()
			old := c.ask()
			c.line.Reset()
			c.connect()
			ask := c.ask()
			if got := wstest.Refused(t, w.outside, c.answerPath(old)); got.Status != http.StatusNotFound || ask.Channel == old.Channel {
				t.Errorf("the old channel %d: %d; the new one: %d", old.Channel, got.Status, ask.Channel)
			}
			k.answer(ask)
			k.hears()
		}
		c.leave()
	})
}

// TestBytesThatCameBehindTheUpgradeRequestAreFrames, and are not another request.
func TestBytesThatCameBehindTheUpgradeRequestAreFrames(t *testing.T) {
	w := begin(t)
	w.survives(func() {
		c := w.container("early")
		defer c.leave()
		for name, behind := range map[string]string{
			"a request": get("/containers/early2/requests") + upgrade + "\r\n",
			"zeros":     "\x00\x00\x00\x00",
			"a lot":     string(make([]byte, 100_000)),
		} {
			tried.Add(1)
			k := c.call()
			p, _, err := wstest.Try(w.outside, c.answerPath(c.ask()), wstest.Early([]byte(behind)))
			if err != nil || p == nil {
				t.Fatalf("%s: %v %v", name, p, err)
			}
			if f, err := p.Next(); err != nil || f.Op != wstest.OpClose || f.CloseCode() != 1002 {
				t.Errorf("%s: %v %v, wanted a Close of status 1002", name, f, err)
			}
			if _, err := p.Next(); !errors.Is(err, io.EOF) {
				t.Errorf("%s: %v, wanted the end", name, err)
			}
			_ = p.NC.Close()
			k.answer(c.ask())
			k.hears()
		}
		k := c.call()
		early := join(whole(wstest.OpBinary, k.result()), whole(wstest.OpClose, nil))
		p, _, err := wstest.Try(w.outside, c.answerPath(c.ask()), wstest.Early(early))
		if err != nil || p == nil {
			t.Fatalf("%v %v", p, err)
		}
		k.hears()
		_ = p.NC.Close()
	})
}

// TestAnAttackersClockIsItsOwn has a call of one container wait while another's path
// sends its answer byte by byte.
func TestAnAttackersClockIsItsOwn(t *testing.T) {
	w := begin(t)
	w.survives(func() {
		slow, quick := w.container("slow"), w.container("quick")
		defer slow.leave()
		defer quick.leave()
		k := slow.call()
		p := slow.open(slow.ask())
		for _, b := range join(whole(wstest.OpBinary, k.result()), whole(wstest.OpClose, nil)) {
			tried.Add(1)
			p.Raw([]byte{b})
			began := time.Now()
			quick.exchange()
			if took := time.Since(began); took > patience/4 {
				t.Fatalf("an exchange took %v", took)
			}
		}
		k.hears()
		_ = p.NC.Close()
	})
}
