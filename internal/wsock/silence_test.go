package wsock

import (
	"bytes"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// giveUp has a connection be pinged after a second of silence, and given up when nothing comes within another.
var giveUp = &Config{Watch: watching(func(s Silence) { s.GiveUp() })}

func watching(silent func(Silence)) *Watch {
	return &Watch{Quiet: func() time.Duration { return time.Second }, Pong: time.Second, Silent: silent}
}

// watched is a served connection, over a pipe whose fake clock the test moves.
func watched(t *testing.T, f func(c *Conn, peer *pipePeer, r *recorder)) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		c := New(ours, nil, giveUp)
		defer theirs.Close()
		peer := &pipePeer{Conn: theirs}
		go peer.read()
		r := newRecorder()
		c.Serve(r)
		f(c, peer, r)
		theirs.Close()
		synctest.Wait()
	})
}

func TestAPeerThatDoesNotAnswerAPingIsGivenUp(t *testing.T) {
	watched(t, func(_ *Conn, peer *pipePeer, r *recorder) {
		pass(1100 * time.Millisecond)
		if got := peer.take(); !bytes.Equal(got, aPing) {
			t.Fatalf("after a second of silence came %s, wanted a ping", hex(got))
		}
		pass(800 * time.Millisecond)
		synctest.Wait()
		if len(r.ended) > 0 {
			t.Fatal("ended before the peer had a second to answer")
		}
		pass(200 * time.Millisecond)
		if e := <-r.ended; e.Clean || !errors.Is(e.Cause, ErrSilent) {
			t.Errorf("ended with %+v, wanted it abrupt with ErrSilent", e)
		}
	})
}

// Wherever between two looks the last sign of life came.
func TestNoSilenceLastsLongerThanThreeLooks(t *testing.T) {
	for at := time.Duration(0); at < time.Second; at += 90 * time.Millisecond {
		watched(t, func(_ *Conn, peer *pipePeer, r *recorder) {
			pass(at)
			peer.send(wstest.OpText, "the last")
			began := time.Now()
			<-r.ended
			if took := time.Since(began); took > 3*time.Second || took < 2*time.Second {
				t.Errorf("with the last word after %v it ended %v later", at, took)
			}
		})
	}
}

func TestAnythingThatComesIsASignOfLife(t *testing.T) {
	for name, sign := range map[string]func(*pipePeer){
		"a pong":        func(p *pipePeer) { p.send(wstest.OpPong, "") },
		"a ping":        func(p *pipePeer) { p.send(wstest.OpPing, "x") },
		"text":          func(p *pipePeer) { p.send(wstest.OpText, "x") },
		"part of frame": func(p *pipePeer) { p.Write([]byte{0x82, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff}); p.Write(make([]byte, 4)) },
	} {
		t.Run(name, func(t *testing.T) {
			watched(t, func(_ *Conn, peer *pipePeer, r *recorder) {
				for i := range 20 {
					if name != "part of frame" || i == 0 {
						sign(peer)
					} else {
						peer.Write([]byte("more"))
					}
					pass(900 * time.Millisecond)
				}
				if len(r.ended) > 0 {
					t.Fatalf("ended with %+v", <-r.ended)
				}
			})
		})
	}
}

// A long message to a peer that takes it slowly keeps our ping waiting behind it.
func TestAPeerThatTakesWhatWeSayIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		c := New(ours, nil, giveUp)
		r := newRecorder()
		c.Serve(r)
		c.Append(nil, make([]byte, 20*writeStep))
		c.Flush()
		b := make([]byte, writeStep)
		for range 19 {
			for n := 0; n < len(b); {
				m, err := theirs.Read(b[n:])
				if err != nil {
					t.Fatal(err, len(r.ended))
				}
				n += m
			}
			pass(900 * time.Millisecond)
		}
		if len(r.ended) > 0 {
			t.Fatalf("ended with %+v", <-r.ended)
		}
		theirs.Close()
		<-r.ended
	})
}

func TestAConnectionThatIsBeingClosedHasItsOwnTime(t *testing.T) {
	watched(t, func(c *Conn, _ *pipePeer, r *recorder) {
		began := time.Now()
		c.Close(1000, "")
		if e := <-r.ended; errors.Is(e.Cause, ErrSilent) || time.Since(began) != closeWait {
			t.Errorf("ended with %+v after %v, wanted %v for the peer's Close", e, time.Since(began), closeWait)
		}
	})
}

func TestASilenceThatIsOverEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silences := make(chan Silence, 16)
		ours, theirs := net.Pipe()
		c := New(ours, nil, &Config{Watch: watching(func(s Silence) { silences <- s })})
		peer := &pipePeer{Conn: theirs}
		go peer.read()
		r := newRecorder()
		c.Serve(r)
		first := <-silences
		if second := <-silences; first.Over() || second.Over() {
			t.Error("over although nothing came")
		}
		peer.send(wstest.OpPong, "")
		synctest.Wait()
		if !first.Over() || first.GiveUp() {
			t.Error("given up although it is over")
		}
		peer.send(wstest.OpBinary, "still here")
		<-r.messages
		later := <-silences
		theirs.Close()
		<-r.ended
		synctest.Wait()
		if later.GiveUp() {
			t.Error("given up although the connection has ended")
		}
	})
}

func TestADoubtedPeerIsPingedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		w := watching(func(s Silence) { s.GiveUp() })
		w.Quiet = func() time.Duration { return 1_000_000 * time.Hour }
		c := New(ours, nil, &Config{Watch: w})
		peer := &pipePeer{Conn: theirs}
		go peer.read()
		r := newRecorder()
		c.Serve(r)
		pass(time.Minute)
		for range 3 { // it answers
			c.Doubt()
			c.Doubt() // once is enough
			if got := peer.take(); !bytes.Equal(got, aPing) {
				t.Fatalf("a doubted peer got %s, wanted a ping", hex(got))
			}
			peer.send(wstest.OpPong, "")
			pass(1100 * time.Millisecond)
		}
		began := time.Now()
		c.Doubt()
		if e := <-r.ended; !errors.Is(e.Cause, ErrSilent) || time.Since(began) != time.Second {
			t.Errorf("ended with %+v after %v", e, time.Since(began))
		}
		c.Doubt() // after the end
		theirs.Close()
		synctest.Wait()
	})
}
