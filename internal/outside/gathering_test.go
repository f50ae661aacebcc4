package outside

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock"
)

// gathered is a WebSocket over loopback, and its peer.
func gathered(t *testing.T) (*wsock.Conn, net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	peer, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = peer.Close() })
	nc, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn := wsock.New(nc, nil, &wsock.Config{})
	t.Cleanup(conn.Cut)
	return conn, peer
}

// TestWhatIsLeftToAnotherWriterGoesOut has many announce at once: whoever returns
// without writing must have been right that another does.
func TestWhatIsLeftToAnotherWriterGoesOut(t *testing.T) {
	conn, peer := gathered(t)
	const writers, each, frame = 8, 2000, 2 + 5
	var g gathering
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range each {
				conn.Append([]byte("5"), []byte("byte"))
				g.flush(conn)
			}
		})
	}
	if n, err := io.CopyN(io.Discard, peer, writers*each*frame); err != nil {
		t.Errorf("%d of %d bytes came: %v", n, writers*each*frame, err)
	}
	all.Wait()
	if g.busy.Load() || conn.Pending() > 0 {
		t.Error("somebody is still writing")
	}
}

func TestNobodyYieldsForLongWhereNobodyJoins(t *testing.T) {
	conn, peer := gathered(t)
	go func() { _, _ = io.Copy(io.Discard, peer) }()
	var g gathering
	for range mostWorth {
		g.joined.Store(true)
		g.since = triedEvery - 1
		g.flush(conn)
	}
	if g.worth != mostWorth {
		t.Errorf("worth is %d where somebody joined each time, want %d", g.worth, mostWorth)
	}
	for range mostWorth {
		g.flush(conn)
	}
	for i := range triedEvery - 1 {
		if g.flush(conn); g.worth > 0 || int(g.since) != i+1 {
			t.Fatalf("it was tried again after %d writes", i+1)
		}
	}
	if g.flush(conn); g.since != 0 {
		t.Error("it is never tried again")
	}
}
