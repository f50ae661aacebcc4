package wsock

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

func TestA10_OurCloseIsAnsweredCleanly(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p, r := served(t, cfg)
		c.Append(nil, []byte("before"))
		c.Close(1000, "not wanted any more")
		c.Close(1001, "once is enough")
		c.Append(nil, []byte("after"))
		c.Flush()
		same(t, p.ReadBinary(), []byte("before"))
		if code, reason := p.ReadClose(); code != 1000 || reason != "not wanted any more" {
			t.Fatalf("closed with %d %q", code, reason)
		}
		p.Binary([]byte("under way")) // a message may cross our Close
		p.Close(1000)
		same(t, r.message(t), []byte("under way"))
		r.clean(t, 1000)
		if cfg.Client {
			p.FIN() // a client leaves it to the server to end TCP
		}
		p.ReadEOF()
	})
}

func TestA10_OurCloseGoesOutWithThe101(t *testing.T) {
	c, p := pair(t, &Config{})
	c.Append([]byte{1}, []byte("first"))
	c.Prefix([]byte("HTTP/1.1 101 and so on\r\n\r\n"))
	c.Append([]byte{2}, []byte("second"))
	c.Close(1000, "")
	want := "HTTP/1.1 101 and so on\r\n\r\n" + "\x82\x06\x01first" + "\x82\x07\x02second" + "\x88\x02\x03\xe8"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(p.NC, got); err != nil {
		t.Fatal(err)
	}
	same(t, got, []byte(want))
	r := newRecorder()
	c.Serve(r)
	p.Close(1000)
	r.clean(t, 1000)
}

func TestA10_AfterOurCloseOtherEndsAreAbrupt(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p, r := served(t, cfg)
		c.Close(1000, "")
		p.ReadClose()
		p.FIN()
		if e := r.abrupt(t, 0); e.Cause != io.EOF {
			t.Fatalf("cause %v", e.Cause)
		}
	})
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p, r := served(t, cfg)
		c.Close(1000, "")
		p.ReadClose()
		p.Raw([]byte{0xff, 0xff})
		r.abrupt(t, 1002)
		p.ReadEOF()
	})
}

func TestA10_AnUnansweredCloseEndsAbruptlyInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c := New(ours, nil, &Config{})
		peer := &pipePeer{Conn: theirs}
		go peer.read()
		r := newRecorder()
		c.Serve(r)
		began := time.Now()
		c.Close(1000, "")
		e := <-r.ended
		if e.Clean || !errors.Is(e.Cause, os.ErrDeadlineExceeded) || time.Since(began) != closeWait {
			t.Errorf("ended after %v with %+v", time.Since(began), e)
		}
	})
}

// A peer that reads nothing cannot hold the connection; one that reads slowly
// gets all the time it needs before the wait for its Close begins.
func TestA10_TheWaitBeginsWhenOurCloseIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c := New(ours, nil, &Config{})
		r := newRecorder()
		c.Serve(r)
		payload := pattern(1 << 20)
		c.Append(nil, payload)
		c.Close(1000, "")
		frames := make(chan []byte, 1)
		go func() {
			var got []byte
			b := make([]byte, writeStep)
			for len(got) < len(payload)+10+4 {
				pass(closeWait - time.Second)
				n, err := theirs.Read(b)
				if err != nil {
					break
				}
				got = append(got, b[:n]...)
			}
			theirs.Write(wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpClose, Masked: true}))
			frames <- got
			theirs.Read(b) // our end of TCP
		}()
		if got := <-frames; len(got) != len(payload)+10+4 {
			t.Errorf("%d bytes came out", len(got))
		}
		if e := <-r.ended; !e.Clean {
			t.Errorf("ended with %+v", e)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c := New(ours, nil, &Config{})
		r := newRecorder()
		c.Serve(r)
		c.Append(nil, pattern(1<<20))
		c.Close(1000, "")
		began := time.Now()
		if e := <-r.ended; e.Clean || time.Since(began) > closeWait+lingerWait {
			t.Errorf("ended after %v with %+v", time.Since(began), e)
		}
	})
}

func TestTheEndIsIdempotent(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p, r := served(t, cfg)
		p.Close(1000)
		r.clean(t, 1000)
		p.ReadClose()
		p.FIN()
		until(t, "the end of our side", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.done && !c.writing
		})
		for range 2 {
			c.Cut()
			c.Close(1000, "")
			c.Append(nil, []byte("x"))
			c.Flush()
			c.Ping()
		}
		if n := c.Pending(); n != 0 {
			t.Fatalf("%d bytes are pending after the end", n)
		}
	})
}

// What came ahead of Serve is the first thing heard, cut where it may be.
func TestEarlyBytesAreHeardFirst(t *testing.T) {
	wire := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: true, Payload: []byte("early")})
	wire = wstest.AppendFrame(wire, wstest.Frame{Fin: true, Op: wstest.OpClose, Masked: true})
	for cut := range len(wire) + 1 {
		ours, theirs := sockets(t)
		early := append([]byte(nil), wire[:cut]...)
		c := New(ours, early, &Config{})
		p := wstest.Wrap(t, theirs, true)
		r := newRecorder()
		c.Serve(r)
		p.Raw(wire[cut:])
		same(t, r.message(t), []byte("early"))
		r.clean(t, NoStatus)
		p.ReadClose()
		p.ReadEOF()
	}
}
