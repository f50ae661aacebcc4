package sock

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
)

// fill writes until nothing fits and returns what was taken.
func fill(t *testing.T, c *Conn, p []byte) []byte {
	t.Helper()
	var taken []byte
	for {
		n, err := c.TryWrite(p)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return taken
		}
		taken = append(taken, p[:n]...)
	}
}

func counting(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i * 7 >> 3)
	}
	return p
}

func TestTryWriteTakesWhatFitsAndNeverWaits(t *testing.T) {
	c, peer := tcpPair(t)
	taken := fill(t, c, counting(1<<20))
	if n, err := c.TryWrite2([]byte("head"), []byte("body")); n != 0 || err != nil {
		t.Fatalf("a full socket took %d, %v", n, err)
	}
	// Room comes back, and what was taken arrives whole.
	got := make([]byte, len(taken))
	if _, err := io.ReadFull(peer, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, taken) {
		t.Fatal("what was taken did not arrive")
	}
	eventually(t, "room", func() bool {
		n, err := c.TryWrite([]byte("x"))
		return n == 1 && err == nil
	})
}

func TestTryWrite2IsHeadThenBody(t *testing.T) {
	c, peer := tcpPair(t)
	for _, parts := range [][2]string{{"head", "body"}, {"", "body"}, {"head", ""}, {"", ""}} {
		want := parts[0] + parts[1]
		n, err := c.TryWrite2([]byte(parts[0]), []byte(parts[1]))
		if n != len(want) || err != nil {
			t.Fatalf("%q: wrote %d, %v", parts, n, err)
		}
		got := make([]byte, len(want))
		if _, err := io.ReadFull(peer, got); err != nil || string(got) != want {
			t.Fatalf("%q: read %q, %v", parts, got, err)
		}
	}
}

func TestTryWrite2CountsOverBothParts(t *testing.T) {
	c, peer := tcpPair(t)
	head, body := counting(300<<10), counting(16<<20)
	n, err := c.TryWrite2(head, body)
	if err != nil || n <= 0 || n >= len(head)+len(body) {
		t.Fatalf("wrote %d of %d, %v", n, len(head)+len(body), err)
	}
	got := make([]byte, n)
	if _, err := io.ReadFull(peer, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, append(bytes.Clone(head), body...)[:n]) {
		t.Error("the parts are mixed")
	}
}

func TestTryWriteTellsThatThePeerIsGone(t *testing.T) {
	c, peer := tcpPair(t)
	peer.SetLinger(0)
	peer.Close()
	eventually(t, "an error", func() bool {
		_, err := c.TryWrite([]byte("x"))
		if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
			t.Fatal(err)
		}
		return err != nil
	})
	c.Close()
	if _, err := c.TryWrite([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestTryWriteHeedsAPassedDeadline(t *testing.T) {
	c, _ := tcpPair(t)
	c.SetWriteDeadline(longAgo)
	if n, err := c.TryWrite([]byte("x")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("wrote %d, %v", n, err)
	}
	c.SetWriteDeadline(time.Time{})
	if n, err := c.TryWrite([]byte("x")); n != 1 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
}

func TestWriteGoesOnWhereTryWriteStopped(t *testing.T) {
	pairs := map[string]func(*testing.T) (*Conn, net.Conn){
		"tcp":  func(t *testing.T) (*Conn, net.Conn) { return tcpPair(t) },
		"pipe": func(t *testing.T) (*Conn, net.Conn) { return pipePair(t) },
		"tls":  func(t *testing.T) (*Conn, net.Conn) { c, peer, _ := tlsPair(t); return c, peer },
	}
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			c, peer := pair(t)
			want := counting(8 << 20)
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() {
				n, err := c.TryWrite(want)
				if err != nil {
					t.Error(err)
				}
				if name != "tcp" && n != 0 {
					t.Errorf("%d bytes fit without waiting", n)
				}
				if _, err := c.Write(want[n:]); err != nil {
					t.Error(err)
				}
			})
			got := make([]byte, len(want))
			if _, err := io.ReadFull(peer, got); err != nil || !bytes.Equal(got, want) {
				t.Errorf("what arrived differs (%v)", err)
			}
		})
	}
}

func TestTheLastIsWrittenAtTheLatestWithTheEnd(t *testing.T) {
	c, peer := tcpPair(t)
	want := counting(100)
	if n, err := c.TryWriteLast(want); n != len(want) || err != nil {
		t.Fatalf("wrote %d, %v", n, err)
	}
	c.Close()
	got, err := io.ReadAll(peer)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if _, err := c.TryWriteLast(want); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	pipe, _ := pipePair(t)
	if n, err := pipe.TryWriteLast(want); n != 0 || err != nil {
		t.Errorf("on a pipe: wrote %d, %v", n, err)
	}
}

func TestWhatDoesNotFitIsNotTheLast(t *testing.T) {
	c, peer := tcpPair(t)
	big := counting(32 << 20)
	n, err := c.TryWriteLast(big)
	if n == 0 || n == len(big) || err != nil {
		t.Fatalf("wrote %d, %v", n, err)
	}
	written := make(chan error, 1)
	go func() {
		_, err := c.Write(big[n:])
		c.Close()
		written <- err
	}()
	got, err := io.ReadAll(peer)
	if err != nil || !bytes.Equal(got, big) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}
