package wsock

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/internal/keepalive"
	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

func TestW4_PingIsAnsweredWithPong(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		_, p, r := served(t, cfg)
		for _, n := range []int{0, 1, 124, 125} {
			p.Ping(pattern(n))
			same(t, p.ReadPong(), pattern(n))
		}
		p.Pong([]byte("nobody asked"))
		p.Send(wstest.Frame{Op: wstest.OpBinary, Payload: []byte("a")},
			wstest.Frame{Fin: true, Op: wstest.OpPing, Payload: []byte("between")},
			wstest.Frame{Fin: true, Op: wstest.OpPong},
			wstest.Frame{Fin: true, Op: wstest.OpContinuation, Payload: []byte("b")})
		same(t, p.ReadPong(), []byte("between"))
		same(t, r.message(t), []byte("ab"))
	})
}

// A peer that pings for ever and reads nothing: its bytes are all consumed, one
// pong at most waits, and what it says otherwise is heard.
func TestW4_APeerThatPingsAndNeverReads(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p, r := served(t, cfg)
		big := make([]byte, 16<<20) // more than the kernel takes
		c.Append(nil, big)
		c.Flush()
		before := c.Pending()
		const pings = 20_000
		payload := make([]byte, maxControl)
		for i := range pings {
			binary.BigEndian.PutUint32(payload, uint32(i))
			p.Ping(payload)
		}
		p.Binary([]byte("heard"))
		same(t, r.message(t), []byte("heard"))
		if after := c.Pending(); before == 0 || after != before {
			t.Fatalf("pending was %d and is %d", before, after)
		}
		c.mu.Lock()
		waiting := len(c.pong.B)
		c.mu.Unlock()
		if waiting != maxControl {
			t.Fatalf("%d bytes of pong are waiting", waiting)
		}
		same(t, p.ReadBinary(), big)
		same(t, p.ReadPong(), payload)
		p.Ping(nil)
		same(t, p.ReadPong(), nil)
	})
}

// ringed is a served connection over a pipe whose fake clock the test moves.
func ringed(t *testing.T, f func(c *Conn, peer *pipePeer, r *recorder)) {
	synctest.Test(t, func(t *testing.T) {
		ring := keepalive.NewRing(15 * time.Second)
		ring.Start()
		defer ring.Close()
		ours, theirs := net.Pipe()
		c := New(ours, nil, &Config{Ring: ring})
		defer theirs.Close()
		peer := &pipePeer{Conn: theirs}
		go peer.read()
		r := newRecorder()
		c.Serve(r)
		f(c, peer, r)
		theirs.Close()
		<-r.ended
		synctest.Wait()
		if n := ring.Len(); n != 0 {
			t.Errorf("%d connections are in the ring after the end", n)
		}
	})
}

// pipePeer takes whatever is sent to it.
type pipePeer struct {
	net.Conn
	mu  sync.Mutex
	got []byte
}

func (p *pipePeer) read() {
	var b [512]byte
	for {
		n, err := p.Conn.Read(b[:])
		if err != nil {
			return
		}
		p.mu.Lock()
		p.got = append(p.got, b[:n]...)
		p.mu.Unlock()
	}
}

// take returns what has come, once nothing moves any more.
func (p *pipePeer) take() []byte {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.got
	p.got = nil
	return b
}

func (p *pipePeer) send(op byte, payload string) {
	p.Write(wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: op, Masked: true, Payload: []byte(payload)}))
}

func pass(d time.Duration) { <-time.After(d) }

var aPing = []byte{0x89, 0}

func TestW4_AQuietSocketIsPingedEveryPeriod(t *testing.T) {
	ringed(t, func(_ *Conn, peer *pipePeer, _ *recorder) {
		for beat := range 5 {
			pass(30 * time.Second)
			if got := peer.take(); !bytes.Equal(got, aPing) {
				t.Fatalf("period %d brought %s, wanted a ping", beat, hex(got))
			}
			peer.send(wstest.OpPong, "")
		}
	})
}

func TestW4_ABusySocketIsNotPinged(t *testing.T) {
	ringed(t, func(c *Conn, peer *pipePeer, r *recorder) {
		for i := range 10 {
			switch i % 3 {
			case 0:
				peer.send(wstest.OpBinary, "hello")
				<-r.messages
			case 1:
				peer.send(wstest.OpText, "hello")
			case 2:
				c.Append(nil, []byte("hello"))
				c.Flush()
				peer.take()
			}
			pass(15 * time.Second)
			if got := peer.take(); len(got) != 0 {
				t.Fatalf("busy period %d brought %s", i, hex(got))
			}
		}
		pass(15 * time.Second)
		if got := peer.take(); !bytes.Equal(got, aPing) {
			t.Fatalf("a quiet period brought %s, wanted a ping", hex(got))
		}
	})
}

func TestW4_NoSilenceIsLongerThanTheTimeBetweenPings(t *testing.T) {
	ringed(t, func(_ *Conn, peer *pipePeer, r *recorder) {
		for range 30 { // traffic at another moment between two beats each time
			peer.send(wstest.OpBinary, "hello")
			<-r.messages
			pass(30 * time.Second)
			if got := peer.take(); !bytes.HasPrefix(got, aPing) {
				t.Fatalf("30 s after its last traffic the socket got %s, wanted a ping", hex(got))
			}
			pass(1100 * time.Millisecond)
		}
	})
}

func TestW4_AMissingPongEndsNothing(t *testing.T) {
	ringed(t, func(_ *Conn, peer *pipePeer, r *recorder) {
		pass(24 * time.Hour)
		if n := len(peer.take()) / len(aPing); n != 24*60*2 {
			t.Errorf("%d pings in a day", n)
		}
		peer.send(wstest.OpBinary, "still here")
		if got := <-r.messages; string(got) != "still here" {
			t.Errorf("got %q", got)
		}
	})
}

func TestW5_NothingTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		c := New(ours, nil, &Config{})
		r := newRecorder()
		c.Serve(r)
		pass(1000 * time.Hour)
		peer := &pipePeer{Conn: theirs}
		peer.send(wstest.OpBinary, "good morning")
		if got := <-r.messages; string(got) != "good morning" {
			t.Errorf("got %q", got)
		}
		peer.Write([]byte{0x82}) // half a header, for a long time
		pass(1000 * time.Hour)
		peer.Write([]byte{0x80, 1, 2, 3, 4})
		if got := <-r.messages; len(got) != 0 {
			t.Errorf("got %q", got)
		}
		theirs.Close()
		<-r.ended
	})
}

// While the socket takes nothing, pings of ours do not pile up either.
func TestW4_OnePingOfOursWaitsAtMost(t *testing.T) {
	c, p, _ := served(t, &Config{})
	big := make([]byte, 16<<20)
	c.Append(nil, big)
	c.Flush()
	before := c.Pending()
	for range 1000 {
		c.Ping()
	}
	if after := c.Pending(); before == 0 || after != before {
		t.Fatalf("pending grew from %d to %d", before, after)
	}
	same(t, p.ReadBinary(), big)
	p.ReadPing()
	p.Close(1000)
	p.ReadClose()
}
