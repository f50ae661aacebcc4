//go:build unix

package sock

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// held is a connection whose writes a test holds back, and lets through.
type held struct {
	net.Conn
	mu    sync.Mutex
	holds bool
	bytes []byte
}

func (h *held) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.holds {
		return h.Conn.Write(p)
	}
	h.bytes = append(h.bytes, p...)
	return len(p), nil
}

// hold returns the record that sends makes.
func (h *held) hold(send func()) []byte {
	h.mu.Lock()
	h.holds = true
	h.mu.Unlock()
	send()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holds = false
	record := h.bytes
	h.bytes = nil
	return record
}

var tlsVersions = map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13}

// servedPair is a connection of ServeTLS, its peer, and what is beneath the peer.
func servedPair(t testing.TB, version uint16) (ours *Conn, peer *tls.Conn, wire *held) {
	t.Helper()
	return servedPairBy(t, version, &net.Dialer{})
}

// narrowPair is one where the kernel takes little from ours, and sends it in
// pieces, so that it often takes but a part of a record.
func narrowPair(t testing.TB, version uint16) (ours *Conn, peer *tls.Conn) {
	t.Helper()
	small := func(raw syscall.RawConn, option int) {
		var failed error
		if err := raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, option, 8<<10) }); err != nil || failed != nil {
			t.Fatal(err, failed)
		}
	}
	// A window that was never large makes the kernel's pieces small.
	ours, peer, _ = servedPairBy(t, version, &net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		small(raw, unix.SO_RCVBUF)
		return nil
	}})
	small(ours.transport(), unix.SO_SNDBUF)
	return ours, peer
}

func servedPairBy(t testing.TB, version uint16, dialer *net.Dialer) (ours *Conn, peer *tls.Conn, wire *held) {
	t.Helper()
	ln, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dialled, err := dialer.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close(); dialled.Close() })
	wire = &held{Conn: dialled}
	peer = tls.Client(wire, &tls.Config{InsecureSkipVerify: true, MaxVersion: version})
	shaken := make(chan error, 1)
	go func() { shaken <- peer.Handshake() }()
	ours, err = ServeTLS(nc, serverConfig(t), guard)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-shaken; err != nil {
		t.Fatal(err)
	}
	if ours.secure() == nil {
		t.Skip("this system has no fast way")
	}
	return ours, peer, wire
}

func eachVersion(t *testing.T, test func(t *testing.T, version uint16)) {
	for name, version := range tlsVersions {
		t.Run(name, func(t *testing.T) { test(t, version) })
	}
}

func TestTLSReadIdleReturnsWhatThePeerSent(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		c, peer, _ := servedPair(t, version)
		want := counting(200<<10 + 5)
		sent := make(chan error, 1)
		go func() {
			for rest := want; len(rest) > 0; {
				n := min(1+rand.IntN(20<<10), len(rest))
				if _, err := peer.Write(rest[:n]); err != nil {
					sent <- err
					return
				}
				rest = rest[n:]
			}
			sent <- peer.CloseWrite()
		}()
		var got []byte
		for i := 0; ; i++ {
			chunk, err := c.ReadIdle()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(chunk.B) == 0 || cap(chunk.B) != ChunkSize {
				t.Fatalf("a chunk of %d bytes in %d", len(chunk.B), cap(chunk.B))
			}
			got = append(got, chunk.B...)
			if i%3 == 0 && len(got) < len(want) { // as of a frame that goes on
				n, err := c.Read(chunk.B[:ChunkSize])
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, chunk.B[:n]...)
			}
			chunk.Release()
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("read %d bytes that are not the %d sent", len(got), len(want))
		}
		if _, err := c.ReadIdle(); err != io.EOF {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestTLSReadIdleEndsWithReadsErrors(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		t.Run("an end of TCP between records", func(t *testing.T) {
			c, _, wire := servedPair(t, version)
			wire.Close()
			if _, err := c.ReadIdle(); err != io.EOF {
				t.Errorf("got %v", err)
			}
		})
		t.Run("an end of TCP within a record", func(t *testing.T) {
			c, peer, wire := servedPair(t, version)
			record := wire.hold(func() { peer.Write([]byte("truncated")) })
			wire.Write(record[:len(record)-1])
			wire.Close()
			if chunk, err := c.ReadIdle(); !errors.Is(err, io.ErrUnexpectedEOF) || chunk != nil {
				t.Errorf("got %v", err)
			}
		})
		t.Run("a deadline within a record ends nothing", func(t *testing.T) {
			c, peer, wire := servedPair(t, version)
			record := wire.hold(func() { peer.Write([]byte("whole")) })
			wire.Write(record[:7])
			if _, timed, err := c.ReadIdleWithin(10 * time.Millisecond); !timed || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("timed %v, %v", timed, err)
			}
			c.SetReadDeadline(time.Time{})
			wire.Write(record[7:])
			chunk, timed, err := c.ReadIdleWithin(guard)
			if err != nil || string(chunk.B) != "whole" {
				t.Fatalf("%v", err)
			}
			chunk.Release()
			c.SetReadDeadline(longAgo)
			if _, err := c.ReadIdle(); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("timed %v, %v", timed, err)
			}
		})
		t.Run("bytes that come one by one are not given more time", func(t *testing.T) {
			c, peer, wire := servedPair(t, version)
			record := wire.hold(func() { peer.Write(counting(2000)) })
			stop := make(chan struct{})
			var trickle sync.WaitGroup
			trickle.Go(func() {
				tick := time.NewTicker(time.Millisecond)
				defer tick.Stop()
				for _, b := range record {
					select {
					case <-tick.C:
						wire.Write([]byte{b})
					case <-stop:
						return
					}
				}
			})
			if _, timed, err := c.ReadIdleWithin(30 * time.Millisecond); !timed || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("timed %v, %v", timed, err)
			}
			close(stop)
			trickle.Wait()
		})
		t.Run("closed under it", func(t *testing.T) {
			c, _, _ := servedPair(t, version)
			read := make(chan error, 1)
			go func() { _, err := c.ReadIdle(); read <- err }()
			c.Close()
			if err := <-read; !errors.Is(err, net.ErrClosed) {
				t.Errorf("got %v", err)
			}
			if _, err := c.TryWrite([]byte("xy")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("TryWrite: %v", err)
			}
			if _, err := c.Write([]byte("xy")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Write: %v", err)
			}
		})
		t.Run("bytes that were changed on their way", func(t *testing.T) {
			c, peer, wire := servedPair(t, version)
			record := wire.hold(func() { peer.Write([]byte("secret")) })
			record[len(record)-1] ^= 1
			wire.Write(record)
			if _, err := c.ReadIdle(); err == nil || !strings.Contains(err.Error(), "bad record MAC") {
				t.Errorf("got %v", err)
			}
		})
	})
}

func TestTLSTryWriteTakesWhatFitsAndNeverWaits(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		c, peer, _ := servedPair(t, version)
		taken := fill(t, c, counting(1<<20))
		if n, err := c.TryWrite2([]byte("head"), []byte("body")); n != 0 || err != nil {
			t.Fatalf("a full socket took %d, %v", n, err)
		}
		// It may have withheld the last byte that it has sent, and then wants it first.
		last := counting(1 << 20)[len(taken)%(1<<20)]
		written := make(chan error, 1)
		go func() { _, err := c.Write([]byte{last}); written <- err }()
		got := make([]byte, len(taken)+1)
		if _, err := io.ReadFull(peer, got); err != nil {
			t.Fatal(err)
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, append(taken, last)) {
			t.Fatal("what was taken did not arrive")
		}
		eventually(t, "room", func() bool { n, err := c.TryWrite([]byte("xy")); return n == 2 && err == nil })
	})
}

// TestTLSCarriesExactlyWhatWasTaken writes in every way while the peer reads in
// fits. What nothing was taken of is not written again: the stream must be what
// was taken, whatever it was and whenever the socket was full.
func TestTLSCarriesExactlyWhatWasTaken(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		c, peer := narrowPair(t, version)
		rng := rand.New(rand.NewPCG(3, uint64(version)))
		var got bytes.Buffer
		var read sync.WaitGroup
		read.Go(func() {
			slow := rand.New(rand.NewPCG(4, 5))
			tick := time.NewTicker(200 * time.Microsecond)
			defer tick.Stop()
			for {
				if slow.IntN(4) == 0 {
					<-tick.C
				}
				if _, err := io.CopyN(&got, peer, int64(1+slow.IntN(30<<10))); err != nil {
					return
				}
			}
		})
		source := counting(1 << 20)
		var taken []byte
		refused, partly, owed, total := 0, 0, 0, 0
		for range 400 {
			from := rng.IntN(len(source) - 70<<10)
			p := source[from : from+1+rng.IntN([]int{8, 2000, 70 << 10}[rng.IntN(3)])]
			for begun := false; len(p) > 0; {
				var n int
				var err error
				switch way := rng.IntN(5); {
				case way == 0:
					n, err = c.Write(p)
				case way == 1:
					cut := rng.IntN(len(p) + 1)
					n, err = c.TryWrite2(p[:cut], p[cut:])
				default:
					n, err = c.TryWrite(p)
				}
				if err != nil {
					t.Fatal(err)
				}
				taken = append(taken, p[:n]...)
				total++
				if n == 0 && !begun {
					refused++
					break // as of a message that is dropped
				}
				if n < len(p) {
					partly++
				}
				if c.secure().owed {
					owed++
				}
				begun = true
				p = p[n:]
			}
		}
		c.Close()
		read.Wait()
		if !bytes.Equal(got.Bytes(), taken) {
			t.Errorf("the peer has read %d bytes that are not the %d taken", got.Len(), len(taken))
		}
		t.Logf("of %d writes %d were refused, %d were taken in part, %d within a record", total, refused, partly, owed)
		if refused == 0 || partly == 0 || owed == 0 {
			t.Error("the socket was never full, or never within a record")
		}
	})
}

// TestTLSWhatIsTakenWholeArrivesThoughTheConnectionIsClosed: it is with the system,
// and none of it with us.
func TestTLSWhatIsTakenWholeArrivesThoughTheConnectionIsClosed(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		for _, size := range []int{500, 5000, maxRecord, 20 << 10} {
			c, peer := narrowPair(t, version)
			message, whole := counting(size), 0
			for {
				n, err := c.TryWrite(message)
				if err != nil {
					t.Fatal(err)
				}
				if n < len(message) {
					break
				}
				whole++
			}
			c.Close()
			got, _ := io.ReadAll(peer) // the message that was not whole has no end
			if want := bytes.Repeat(message, whole); !bytes.HasPrefix(got, want) {
				t.Errorf("messages of %d bytes: %d were taken, %d bytes arrived", size, whole, len(got))
			}
		}
	})
}

func TestTLSWritesGoOnAfterADeadline(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		c, peer, _ := servedPair(t, version)
		c.SetWriteDeadline(longAgo)
		if n, err := c.TryWrite([]byte("xy")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("TryWrite: %d, %v", n, err)
		}
		want := counting(32 << 20)
		c.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
		n, err := c.Write(want)
		if !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 || n == len(want) {
			t.Fatalf("wrote %d, %v", n, err)
		}
		c.SetWriteDeadline(time.Time{})
		var writing sync.WaitGroup
		writing.Go(func() {
			if m, err := c.Write(want[n:]); m != len(want)-n || err != nil {
				t.Errorf("wrote %d of the rest, %v", m, err)
			}
		})
		got := make([]byte, len(want))
		if _, err := io.ReadFull(peer, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("what arrived differs (%v)", err)
		}
		writing.Wait()
	})
}

func TestTLSTheLastArrivesAndThenTheEnd(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		c, peer, _ := servedPair(t, version)
		want := counting(20 << 10)
		if n, err := c.TryWriteLast(want); n != len(want) || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
		c.Close()
		got, err := io.ReadAll(peer)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("read %d bytes, %v", len(got), err)
		}
	})
}

func TestTLSOneHalfEndsAndTheOtherGoesOn(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		c, peer, wire := servedPair(t, version)
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(peer); len(b) != 0 || err != nil {
			t.Errorf("the peer read %q, %v", b, err)
		}
		if n, err := wire.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("TCP has not ended: %d, %v", n, err)
		}
		peer.Write([]byte("late"))
		chunk, err := c.ReadIdle()
		if err != nil || string(chunk.B) != "late" {
			t.Fatalf("%v", err)
		}
		chunk.Release()
	})
}
