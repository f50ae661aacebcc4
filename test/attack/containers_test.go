package attack

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// TestNobodyOpensAnAskOfAnotherContainer tries the channels of two containers under
// every other name, kind and number.
func TestNobodyOpensAnAskOfAnotherContainer(t *testing.T) {
	w := begin(t)
	w.survives(func() {
		c, d := w.container("mine"), w.container("yours")
		defer c.leave()
		defer d.leave()
		mine, yours := c.call(), d.call()
		ask, other := c.ask(), d.ask()
		targets := []string{
			fmt.Sprintf("/mcp/call-tool/%d", ask.Channel),
			fmt.Sprintf("/containers/mine/mcp/call-tool/%d", other.Channel),
			fmt.Sprintf("/containers/yours/mcp/call-tool/%d", ask.Channel),
			fmt.Sprintf("/containers/mine/mcp/call-tool/%d?container=yours", other.Channel),
			fmt.Sprintf("http://yours/containers/mine/mcp/call-tool/%d", other.Channel),
		}
		for _, kind := range []string{"list-tools", "list-resources", "read-resource", "notifications", "command", "Call-Tool", "call_tool"} {
			targets = append(targets, fmt.Sprintf("/containers/mine/mcp/%s/%d", kind, ask.Channel))
		}
		for _, id := range []string{"Mine", "MINE", "mine.", "mine ", "mine%20", "mine%00", "%6dine", "mine;", "mine/", "./mine", "../containers/mine", "yours/../mine", "mine/../yours", "mine\\", "mine?", "mine#"} {
			targets = append(targets, fmt.Sprintf("/containers/%s/mcp/call-tool/%d", id, ask.Channel))
		}
		for _, channel := range []string{"0%d", "+%d", "%d.0", "%de0", "0x%x", "%d%%00", "%d/", "%d/..", " %d"} {
			targets = append(targets, "/containers/mine/mcp/call-tool/"+fmt.Sprintf(channel, ask.Channel))
		}
		for n := range uint32(100) {
			targets = append(targets,
				fmt.Sprintf("/containers/mine/mcp/call-tool/%d", ask.Channel+1+n),
				fmt.Sprintf("/containers/mine/mcp/call-tool/%d", ask.Channel-1-n),
				fmt.Sprintf("/containers/mine/mcp/call-tool/%d", n),
				fmt.Sprintf("/containers/mine/mcp/call-tool/%d", rand.Uint32()))
		}
		for _, target := range targets {
			tried.Add(1)
			p, got, err := wstest.Try(w.outside, target)
			if err != nil {
				t.Fatalf("%s: %v", target, err)
			}
			if p != nil || got.Status != http.StatusNotFound && got.Status != http.StatusBadRequest {
				t.Errorf("%s: %d, wanted 404", target, got.Status)
			}
			w.tellsNothing(target, got.Body)
		}
		mine.answer(ask)
		yours.answer(other)
		mine.hears()
		yours.hears()
		for _, target := range []string{c.answerPath(ask), d.answerPath(other)} {
			if got := wstest.Refused(t, w.outside, target); got.Status != http.StatusNotFound {
				t.Errorf("%s after its end: %d", target, got.Status)
			}
		}
	})
}

// TestOneOfManyWhoRaceForAPathHasIt, and of those who race for a container's claim.
func TestOneOfManyWhoRaceForAPathHasIt(t *testing.T) {
	const racers, rounds = 8, 40
	w := begin(t)
	w.survives(func() {
		c := w.container("race")
		defer c.leave()
		for range rounds {
			k := c.call()
			target := c.answerPath(c.ask())
			winner := race(t, w.outside, target, racers)
			winner.BinaryAndClose(k.result())
			k.hears()
			_ = winner.NC.Close()
		}
		for n := range rounds {
			winner := race(t, w.outside, fmt.Sprintf("/containers/race%d/requests", n), racers)
			_ = winner.NC.Close()
		}
	})
}

func race(t *testing.T, addr, target string, racers int) (winner *wstest.Peer) {
	t.Helper()
	peers, statuses := make([]*wstest.Peer, racers), make([]int, racers)
	var begun, ended sync.WaitGroup
	begun.Add(1)
	for i := range racers {
		tried.Add(1)
		ended.Go(func() {
			begun.Wait()
			var got wstest.Response
			peers[i], got, _ = wstest.Try(addr, target)
			statuses[i] = got.Status
		})
	}
	begun.Done()
	ended.Wait()
	for i, p := range peers {
		switch {
		case p != nil && winner == nil:
			winner = p
		case p != nil:
			t.Fatalf("%s: two have it", target)
		case statuses[i] != http.StatusConflict:
			t.Errorf("%s: %d, wanted 409", target, statuses[i])
		}
	}
	if winner == nil {
		t.Fatalf("%s: nobody has it: %v", target, statuses)
	}
	return winner
}

// TestASessionIsOfItsContainerOnly tries the session of one container everywhere
// else, and everything that could be taken for it on its own.
func TestASessionIsOfItsContainerOnly(t *testing.T) {
	w := begin(t)
	w.survives(func() {
		c := w.container("mine")
		defer c.leave()
		token := c.session
		try := func(at *container, session string) {
			tried.Add(1)
			at.session = session
			conn := w.dial(w.inside)
			defer conn.Close()
			if got := w.speak(conn, http.MethodPost, at.post(ping)); got.status != http.StatusNotFound || !strings.Contains(got.body, "-32001") {
				t.Errorf("%s with %q: %d %s", at.id, session, got.status, got.body)
			}
		}
		for _, id := range []string{"yours", "Mine", "mine.", "min", "mine1", "default"} {
			try(&container{w: w, id: id}, token)
		}
		own := &container{w: w, id: "mine"}
		for n := range token {
			for _, by := range []byte{token[n] ^ 1, 'A', '-', '='} {
				if by != token[n] {
					try(own, token[:n]+string(by)+token[n+1:])
				}
			}
		}
		for _, session := range []string{token[:len(token)-1], token + "A", token + "=", strings.ToLower(token), token + "," + token, "x", strings.Repeat("A", len(token))} {
			try(own, session)
		}
		c.exchange()
	})
}
