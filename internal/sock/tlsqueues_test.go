//go:build unix

package sock

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

func TestTLSDrainedIsTrueOnlyBetweenRecords(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		c, peer, wire := servedPair(t, version)
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
		record := wire.hold(func() { peer.Write([]byte("halves")) })
		for _, cut := range []int{1, 4, 5, 6, len(record) - 1} {
			eventually(t, "drained", c.Drained)
			wire.Write(record[:cut])
			eventually(t, "not drained with a part of a record", func() bool { return !c.Drained() })
			for range 20 { // nor once the part was read
				runtime.Gosched()
				if c.Drained() {
					t.Fatalf("drained with %d bytes of a record", cut)
				}
			}
			wire.Write(record[cut:])
			if s := <-got; s != "halves" {
				t.Fatalf("read %q", s)
			}
			handle <- struct{}{}
			record = wire.hold(func() { peer.Write([]byte("halves")) })
		}
		wire.Close()
		eventually(t, "not drained after the end", func() bool { return !c.Drained() })
	})
}

// TestTLSDrainedNeverRunsAheadOfTheReader: whatever had been acknowledged before a
// look must have been handled when the look says so.
func TestTLSDrainedNeverRunsAheadOfTheReader(t *testing.T) {
	c, peer, wire := servedPair(t, tls.VersionTLS13)
	out := Wrap(wire.Conn)
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
	for range 2 {
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
				if drained && after < before {
					t.Errorf("drained with %d bytes handled of %d that had arrived", after, before)
					return
				}
				if drained {
					held.Add(1)
				}
			}
		})
	}
	written := int64(0)
	for i := range 300 {
		n := 1 + i*37%(3*ChunkSize)
		if _, err := peer.Write(make([]byte, n)); err != nil {
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

func TestTLSDepartedAndUnacknowledged(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		c, peer, wire := servedPair(t, version)
		if c.Departed() {
			t.Error("a quiet peer has departed")
		}
		if err := c.SetUserTimeout(UserTimeout); err != nil && runtime.GOOS == "linux" {
			t.Error(err)
		}
		if _, known := c.Unacknowledged(); known {
			eventually(t, "all is acknowledged", func() bool { n, _ := c.Unacknowledged(); return n == 0 })
			taken := fill(t, c, counting(1<<20))
			owed := c.secure().owed
			if n, _ := c.Unacknowledged(); n == 0 || owed != (c.secure().wire.queued() > 0) {
				t.Errorf("%d bytes unacknowledged of %d, owed %v", n, len(taken), owed)
			}
		}
		wire.Close()
		eventually(t, "departed", c.Departed)
		peer.Close()
	})
}

// TestTLSAnAnswerOfTheReadersWaitsForNobody is of the record with which crypto/tls
// answers a peer that changes its keys: it is written by the reader.
func TestTLSAnAnswerOfTheReadersWaitsForNobody(t *testing.T) {
	c, peer := tcpPair(t)
	w := &wire{shaken: true}
	w.Init(c)
	full := fill(t, &w.Conn, counting(1<<20))
	own := counting(maxRecord)
	if n, err := w.Write(own); n != len(own) || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	var flushing sync.WaitGroup
	flushing.Go(func() {
		if err := w.flush(); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "it is being written", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.flushing > 0 })
	answer := []byte("answer")
	if n, err := w.Write(answer); n != len(answer) || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	for err := error(nil); err == nil; _, err = w.Write(answer) {
		if w.queued() > maxQueued {
			t.Fatal("nothing bounds what a peer makes us answer")
		}
	}
	behind := w.queued()
	got := make([]byte, len(full)+behind)
	if _, err := io.ReadFull(peer, got); err != nil {
		t.Fatal(err)
	}
	want := append(append(full, own...), bytes.Repeat(answer, behind/len(answer))...)
	if !bytes.Equal(got, want[:len(got)]) {
		t.Error("records are mixed")
	}
	flushing.Wait()
}

func TestABoundaryIsFoundHoweverRecordsAreCut(t *testing.T) {
	var stream []byte
	var ends []int
	for _, n := range []int{0, 1, 255, 256, 5, maxRecord + 256} {
		stream = append(append(stream, 23, 3, 3, byte(n>>8), byte(n)), make([]byte, n)...)
		ends = append(ends, len(stream))
	}
	for step := 1; step < 300; step++ {
		var b boundary
		next := 0
		for at := 0; at < len(stream); {
			n := min(step, len(stream)-at)
			b.pass(stream[at : at+n])
			at += n
			for next < len(ends) && ends[next] < at {
				next++
			}
			if b.amid() == (next < len(ends) && ends[next] == at) {
				t.Fatalf("step %d, at %d: amid %v", step, at, b.amid())
			}
		}
	}
}

var _ net.Conn = (*wire)(nil)

// TestTLSWhoEndsTLSAloneHasDepartedOnceThatIsRead is of clients that say goodbye and wait for ours, before they end TCP.
func TestTLSWhoEndsTLSAloneHasDepartedOnceThatIsRead(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		c, peer, _ := servedPair(t, version)
		if err := peer.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ReadIdle(); err != io.EOF {
			t.Errorf("read: %v", err)
		}
		if !c.Departed() {
			t.Error("it has not departed")
		}
	})
}
