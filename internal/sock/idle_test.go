package sock

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

func TestReadIdleReturnsWhatThePeerSent(t *testing.T) {
	pairs := map[string]func(*testing.T) (*Conn, net.Conn){
		"tcp":  func(t *testing.T) (*Conn, net.Conn) { return tcpPair(t) },
		"pipe": func(t *testing.T) (*Conn, net.Conn) { return pipePair(t) },
		"tls":  func(t *testing.T) (*Conn, net.Conn) { c, peer, _ := tlsPair(t); return c, peer },
	}
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			c, peer := pair(t)
			want := counting(3*ChunkSize + 5)
			sent := make(chan error, 1)
			go func() {
				_, err := peer.Write(want)
				peer.Close()
				sent <- err
			}()
			var got []byte
			for {
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
				if n := len(chunk.B); n < ChunkSize && len(got) < len(want) {
					more, err := c.Read(chunk.B[n:ChunkSize])
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, chunk.B[n:n+more]...)
				}
				chunk.Release()
			}
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("read %d bytes that are not the %d sent", len(got), len(want))
			}
		})
	}
}

func TestReadIdleEndsWithReadsErrors(t *testing.T) {
	t.Run("deadline", func(t *testing.T) {
		c, peer := tcpPair(t)
		c.SetReadDeadline(longAgo)
		if _, err := c.ReadIdle(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		c.SetReadDeadline(time.Time{})
		peer.Write([]byte("x"))
		chunk, err := c.ReadIdle()
		if err != nil || string(chunk.B) != "x" {
			t.Fatalf("after the deadline was cleared: %v", err)
		}
		chunk.Release()
	})
	t.Run("closed under it", func(t *testing.T) {
		c, _ := tcpPair(t)
		read := make(chan error, 1)
		go func() { _, err := c.ReadIdle(); read <- err }()
		c.Close()
		if err := <-read; !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("reset", func(t *testing.T) {
		c, peer := tcpPair(t)
		peer.SetLinger(0)
		peer.Close()
		if _, err := c.ReadIdle(); err == nil || err == io.EOF {
			t.Errorf("got %v", err)
		}
	})
	t.Run("bytes before a reset are not lost", func(t *testing.T) {
		c, peer := tcpPair(t)
		peer.Write([]byte("last words"))
		peer.SetLinger(0)
		peer.Close()
		chunk, err := c.ReadIdle()
		if err != nil || string(chunk.B) != "last words" {
			t.Fatalf("got %v", err)
		}
		chunk.Release()
	})
}

func TestAChunkIsReleasedOnce(t *testing.T) {
	chunk := TakeChunk()
	chunk.Release()
	defer func() {
		if recover() == nil {
			t.Error("a second release went through")
		}
	}()
	chunk.Release()
}
