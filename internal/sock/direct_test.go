package sock

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

func TestADirectWriteIsATryWrite(t *testing.T) {
	pairs := map[string]func(*testing.T) (*Conn, net.Conn){
		"tcp":  func(t *testing.T) (*Conn, net.Conn) { return tcpPair(t) },
		"pipe": func(t *testing.T) (*Conn, net.Conn) { return pipePair(t) },
		"tls":  func(t *testing.T) (*Conn, net.Conn) { c, peer, _ := tlsPair(t); return c, peer },
	}
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			c, peer := pair(t)
			var d Direct
			d.Init(c)
			want := counting(8 << 20)
			var written sync.WaitGroup
			defer written.Wait()
			written.Go(func() {
				for rest, size := want, 1; len(rest) > 0; size *= 2 {
					n, err := d.TryWrite(rest[:min(size, len(rest))])
					if err != nil || n > 0 && name != "tcp" || n == 0 && size == 1 && name == "tcp" {
						t.Errorf("%d of %d fit without waiting, %v", n, size, err)
					}
					m, err := d.Write(rest[n:min(size, len(rest))])
					if err != nil {
						t.Error(err)
					}
					rest = rest[n+m:]
				}
			})
			got := make([]byte, len(want))
			if _, err := io.ReadFull(peer, got); err != nil || string(got) != string(want) {
				t.Errorf("what arrived differs (%v)", err)
			}
		})
	}
}

func TestADirectWriteFailsAsAConnsDoes(t *testing.T) {
	c, peer := tcpPair(t)
	var d Direct
	d.Init(c)
	d.SetWriteDeadline(longAgo)
	if _, err := d.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("past a deadline: %v", err)
	}
	peer.SetLinger(0)
	peer.Close()
	eventually(t, "an error", func() bool { _, err := d.TryWrite([]byte("x")); return err != nil })
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"TryWrite":    func() error { _, err := d.TryWrite([]byte("x")); return err }(),
		"TryWrite2":   func() error { _, err := d.TryWrite2([]byte("x"), []byte("y")); return err }(),
		"ReadIdle":    func() error { _, err := d.ReadIdle(); return err }(),
		"SetDeadline": d.SetReadDeadline(time.Time{}),
	} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	var late Direct
	late.Init(c)
	if _, err := late.TryWrite([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("of a closed Conn: %v", err)
	}
}

// TestADirectWriteReachesNoOtherConnection writes to connections while they are
// closed and their descriptors become others'.
func TestADirectWriteReachesNoOtherConnection(t *testing.T) {
	ln, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for range 300 {
		c, peer := accepted(t, ln)
		var d Direct
		d.Init(c)
		var writers sync.WaitGroup
		for range 2 {
			writers.Go(func() {
				for err := error(nil); err == nil; {
					_, err = d.TryWrite([]byte("x"))
				}
			})
		}
		writers.Go(func() { io.Copy(io.Discard, peer) })
		if n, err := peer.Read(make([]byte, 1)); n != 1 {
			t.Fatal(err)
		}
		d.Close()
		other, theirs := accepted(t, ln) // most likely with the same descriptor
		writers.Wait()
		other.CloseWrite()
		if n, err := theirs.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Fatalf("another connection got %d bytes, %v", n, err)
		}
		other.Close()
		theirs.Close()
	}
}
