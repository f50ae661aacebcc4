package sock

import (
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// reading is a reader of ReadIdle that handles what it is given when the test
// lets it.
func reading(t *testing.T, c *Conn) (got chan string, handle chan struct{}) {
	got, handle = make(chan string), make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			chunk, err := c.ReadIdle()
			if err != nil {
				return
			}
			got <- string(chunk.B)
			chunk.Release()
			<-handle
		}
	}()
	t.Cleanup(func() { c.Close(); <-ended })
	return got, handle
}

func TestDrainedIsTrueOnlyWhileTheReaderWaitsWithNothingUnread(t *testing.T) {
	if !rawWays {
		t.Skip("this system has no fast way")
	}
	c, peer := tcpPair(t)
	if c.Drained() {
		t.Error("drained before anybody has read")
	}
	got, handle := reading(t, c)
	for range 3 {
		eventually(t, "drained", c.Drained)
		peer.Write([]byte("x"))
		<-got
		if c.Drained() {
			t.Error("drained while what was read is handled")
		}
		handle <- struct{}{}
	}
	eventually(t, "drained", c.Drained)
	peer.Close()
	eventually(t, "not drained after the end", func() bool { return !c.Drained() })
}

func TestDrainedSeesWhatIsUnread(t *testing.T) {
	if !rawWays {
		t.Skip("this system has no fast way")
	}
	c, peer := tcpPair(t)
	c.waits.Store(true) // as of a reader that nothing has woken yet
	if !c.Drained() {
		t.Error("not drained with nothing unread")
	}
	peer.Write([]byte("x"))
	eventually(t, "not drained", func() bool { return !c.Drained() })
	io.ReadFull(c, make([]byte, 1))
	if !c.Drained() {
		t.Error("not drained once it was read")
	}
	c.Close()
	if c.Drained() {
		t.Error("a closed connection claims to be drained")
	}
}

func TestDrainedIsNeverTrueWhereItCannotBeKnown(t *testing.T) {
	overTLS, tlsPeer, _ := tlsPair(t)
	pipe, pipePeer := pipePair(t)
	for name, pair := range map[string]struct {
		c    *Conn
		peer net.Conn
	}{"tls": {overTLS, tlsPeer}, "pipe": {pipe, pipePeer}} {
		got, handle := reading(t, pair.c)
		for range 2 {
			go pair.peer.Write([]byte("x"))
			<-got
			handle <- struct{}{}
			if pair.c.Drained() {
				t.Errorf("%s: drained", name)
			}
		}
	}
}

func TestUnacknowledgedIsWhatThePeersSystemDoesNotHave(t *testing.T) {
	overTLS, _, _ := tlsPair(t)
	plain, peer := tcpPair(t)
	if _, known := plain.Unacknowledged(); !known {
		t.Skip("this system does not tell")
	}
	for name, c := range map[string]*Conn{"tcp": plain, "tls": overTLS} {
		eventually(t, name+": all of a short message is acknowledged, unread", func() bool {
			n, known := c.Unacknowledged()
			return known && n == 0
		})
	}
	full := 0
	for range 1000 { // until neither end's buffer takes more
		n, err := plain.TryWrite(make([]byte, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		if full += n; n == 0 {
			break
		}
	}
	if n, _ := plain.Unacknowledged(); n == 0 || n > full {
		t.Errorf("%d bytes unacknowledged of %d that the peer does not read", n, full)
	}
	if _, err := io.ReadFull(peer, make([]byte, full)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all is acknowledged", func() bool { n, _ := plain.Unacknowledged(); return n == 0 })

	pipe, _ := pipePair(t)
	plain.Close()
	for name, c := range map[string]*Conn{"pipe": pipe, "closed": plain} {
		if n, known := c.Unacknowledged(); known || n != 0 {
			t.Errorf("%s: %d bytes, known %v", name, n, known)
		}
	}
}

// TestDrainedNeverRunsAheadOfTheReader has several goroutines look while bytes
// come: whatever had been acknowledged before a look must have been handled when
// the look says so.
func TestDrainedNeverRunsAheadOfTheReader(t *testing.T) {
	const bursts = 500
	c, peer := tcpPair(t)
	out := Wrap(peer)
	if _, known := out.Unacknowledged(); !known {
		t.Skip("this system does not tell what has arrived")
	}
	var handled, arrived, held atomic.Int64
	var all sync.WaitGroup
	all.Go(func() {
		for {
			chunk, err := c.ReadIdle()
			if err != nil {
				return
			}
			runtime.Gosched()
			handled.Add(int64(len(chunk.B)))
			chunk.Release()
		}
	})
	done := make(chan struct{})
	for range 3 {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				before := arrived.Load()
				drained := c.Drained()
				after := handled.Load()
				runtime.Gosched()
				if !drained {
					continue
				}
				held.Add(1)
				if after < before {
					t.Errorf("drained with %d bytes handled of %d that had arrived", after, before)
					return
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	written := int64(0)
	for range bursts {
		n := 1 + rng.IntN(2*ChunkSize)
		if _, err := out.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		written += int64(n)
		for {
			if n, _ := out.Unacknowledged(); n == 0 {
				break
			}
			runtime.Gosched()
		}
		arrived.Store(written)
	}
	eventually(t, "drained at last", c.Drained)
	if n := handled.Load(); n != written {
		t.Errorf("drained with %d bytes handled of %d", n, written)
	}
	close(done)
	peer.Close()
	all.Wait()
	t.Logf("drained %d times", held.Load())
}
