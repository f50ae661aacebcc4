package stream_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/pkg/stream"
)

// listeners connects n clients over real TCP and gives each that is heard to
// heard, in a goroutine that ends with the connection.
func listeners(tb testing.TB, n int, heard func(i int, nc net.Conn)) (conns []*sock.Conn, done *sync.WaitGroup) {
	tb.Helper()
	ln, err := sock.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer ln.Close()
	done = new(sync.WaitGroup)
	for i := range n {
		client, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			tb.Fatal(err)
		}
		nc, err := ln.Accept()
		if err != nil {
			tb.Fatal(err)
		}
		conns = append(conns, sock.Wrap(nc))
		done.Go(func() {
			defer client.Close()
			heard(i, client)
		})
	}
	return conns, done
}

func TestN7_OverTCPEachClientHearsEverythingInOrder(t *testing.T) {
	const clients, publications = 8, 300
	var counters stream.Counters
	hub := stream.NewHub(&stream.Config{Messages: publications, Bytes: 64 << 20, Counters: &counters})
	wires := make([][]byte, clients)
	conns, done := listeners(t, clients, func(i int, nc net.Conn) {
		wires[i], _ = io.ReadAll(nc)
	})
	for _, c := range conns {
		hub.Open(c, nil)
	}
	var want []byte
	for i := range publications {
		p := bytes.Repeat([]byte(fmt.Sprintf("<%d>", i)), 1+i*53%4000)
		want = append(want, p...)
		if n := hub.Publish(stream.Message{Bytes: p, Keep: true}); n != clients {
			t.Fatalf("publication %d was taken by %d", i, n)
		}
	}
	drained(&counters)
	hub.Close(stream.CloseEnded)
	done.Wait()
	for i, wire := range wires {
		if !bytes.Equal(wire, want) {
			t.Errorf("client %d heard %d bytes, want %d", i, len(wire), len(want))
		}
	}
	if sent := counters.Sent.Load(); sent != clients*publications {
		t.Errorf("%d sent, want %d", sent, clients*publications)
	}
}

// drained waits until every queue is empty.
func drained(c *stream.Counters) {
	for c.Queued.Load() != 0 {
		runtime.Gosched()
	}
}

var event = []byte("event: message\ndata: " + string(bytes.Repeat([]byte("x"), 200)) + "\n\n")

func BenchmarkFanOutTCP(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("streams=%d", n), func(b *testing.B) {
			conns, done := listeners(b, n, discard)
			var counters stream.Counters
			hub := stream.NewHub(&stream.Config{Counters: &counters})
			for _, c := range conns {
				hub.Open(c, nil)
			}
			b.ReportAllocs()
			for b.Loop() {
				hub.Publish(stream.Message{Bytes: event})
				if counters.Queued.Load() > stream.DefaultMessages/2 {
					drained(&counters) // Nothing is to be lost.
				}
			}
			drained(&counters)
			b.StopTimer()
			report(b, n)
			if lost := counters.Dropped[stream.DropRoom].Load(); lost != 0 {
				b.Errorf("%d messages were lost", lost)
			}
			hub.Close(stream.CloseShutdown)
			done.Wait()
		})
	}
}

// BenchmarkBareLoopTCP is what FanOutTCP is held against: a blocking write per
// connection and nothing else.
func BenchmarkBareLoopTCP(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("streams=%d", n), func(b *testing.B) {
			conns, done := listeners(b, n, discard)
			b.ReportAllocs()
			for b.Loop() {
				for _, c := range conns {
					if _, err := c.Conn.Write(event); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.StopTimer()
			report(b, n)
			for _, c := range conns {
				c.Close()
			}
			done.Wait()
		})
	}
}

func discard(_ int, nc net.Conn) {
	var buffer [32 << 10]byte
	for {
		if _, err := nc.Read(buffer[:]); err != nil {
			return
		}
	}
}

func report(b *testing.B, streams int) {
	b.ReportMetric(float64(b.N*streams)/b.Elapsed().Seconds(), "msgs/s")
}
