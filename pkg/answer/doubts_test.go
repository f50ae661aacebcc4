package answer

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
)

// silentPeer is the other end of a socket. It reads and says nothing.
type silentPeer struct {
	net.Conn
	ended chan wsock.Ending
}

func (p *silentPeer) Message(b *codec.Buffer) *wsock.Violation { b.Release(); return nil }
func (p *silentPeer) Ended(e wsock.Ending)                     { p.ended <- e }

// pong says that it is alive after all.
func (p *silentPeer) pong() { _, _ = p.Write([]byte{0x8a, 0}) }

// doubted has sockets whose gateway is silent on them, in a bubble, until f returns.
func doubted(t *testing.T, sockets int, quiet func() time.Duration, knock func(context.Context) error, f func(peers []*silentPeer)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var conns []*wsock.Conn
		d := &doubts{ctx: ctx, knock: knock, spread: func() {
			for _, c := range conns {
				c.Doubt()
			}
		}}
		watch := &wsock.Watch{Quiet: quiet, Pong: pong, Silent: d.raise}
		cfg := &wsock.Config{Client: true, Watch: watch}
		var peers []*silentPeer
		for range sockets {
			ours, theirs := net.Pipe()
			p := &silentPeer{theirs, make(chan wsock.Ending, 1)}
			go func() {
				for b := make([]byte, 64); ; {
					if _, err := theirs.Read(b); err != nil {
						return
					}
				}
			}()
			conns = append(conns, wsock.New(ours, nil, cfg))
			peers = append(peers, p)
		}
		for i, c := range conns {
			c.Serve(peers[i])
		}
		f(peers)
		for _, p := range peers {
			p.Close()
		}
		cancel()
		d.end()
		synctest.Wait()
	})
}

func always() time.Duration { return leastQuiet }

func answers(context.Context) error { return nil }

func TestASocketOnWhichAGatewayIsSilentThatAnswersElsewhereIsGivenUp(t *testing.T) {
	doubted(t, 3, always, answers, func(peers []*silentPeer) {
		began := time.Now()
		for _, p := range peers {
			if e := <-p.ended; !errors.Is(e.Cause, wsock.ErrSilent) {
				t.Errorf("ended with %+v", e)
			}
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("given up after %v", took)
		}
	})
}

func TestNothingIsGivenUpWhileTheGatewayAnswersNowhere(t *testing.T) {
	knock := func(ctx context.Context) error {
		timeout, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		<-timeout.Done()
		return timeout.Err()
	}
	doubted(t, 3, always, knock, func(peers []*silentPeer) {
		pass(time.Hour)
		for _, p := range peers {
			if len(p.ended) > 0 {
				t.Errorf("ended with %+v", <-p.ended)
			}
		}
	})
}

// A busy gateway answers late, on every socket alike.
func TestABusyGatewayLosesNoSocket(t *testing.T) {
	const late = 1700 * time.Millisecond // more than is waited before there is doubt
	doubted(t, 1, always, func(ctx context.Context) error { pass(late); return nil }, func(peers []*silentPeer) {
		for range 100 {
			pass(leastQuiet + late)
			peers[0].pong()
		}
		if len(peers[0].ended) > 0 {
			t.Errorf("ended with %+v", <-peers[0].ended)
		}
	})
}

func TestAGatewayIsAskedOnceAboutManySockets(t *testing.T) {
	var asked atomic.Int32
	doubted(t, 200, always, func(context.Context) error { asked.Add(1); return nil }, func(peers []*silentPeer) {
		for _, p := range peers {
			<-p.ended
		}
		if n := asked.Load(); n > 4 {
			t.Errorf("asked %d times about %d sockets", n, len(peers))
		}
	})
}

// Many sockets are pinged seldom; what is found on one is looked for on all.
func TestOneSocketThatIsGivenUpMakesAllDoubted(t *testing.T) {
	var opened atomic.Int32
	quiet := func() time.Duration {
		if opened.Add(1) == 1 {
			return leastQuiet
		}
		return 1_000_000 * time.Hour
	}
	doubted(t, 50, quiet, answers, func(peers []*silentPeer) {
		began := time.Now()
		for _, p := range peers {
			if e := <-p.ended; !errors.Is(e.Cause, wsock.ErrSilent) {
				t.Errorf("ended with %+v", e)
			}
		}
		if took := time.Since(began); took > 4500*time.Millisecond {
			t.Errorf("given up after %v", took)
		}
	})
}

func TestAKnockIsRefusedAndThatIsAnAnswer(t *testing.T) {
	var url string
	r := &run{Server: &Server{}, base: "ws://gateway/containers/a"}
	r.dial = func(_ context.Context, u string, _ http.Header, _ *wsock.Config) (socket, error) {
		url = u
		return nil, &wsock.RefusedError{Status: 404}
	}
	if err := r.knock(t.Context()); err != nil || url != "ws://gateway/containers/a/mcp/call-tool/0" {
		t.Errorf("%v at %s", err, url)
	}
	r.dial = func(context.Context, string, http.Header, *wsock.Config) (socket, error) {
		return nil, errors.New("nobody there")
	}
	if r.knock(t.Context()) == nil {
		t.Error("nobody's answer is one")
	}
}
