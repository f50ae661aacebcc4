//go:build unix && !race

package sock

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
)

// What crypto/tls allocates for each record that it reads: a reader that counts.
const readAllocs = 1

func TestTLSWritesAllocateNothingAndReadsLittle(t *testing.T) {
	c, peer, _ := servedPair(t, tls.VersionTLS13)
	p := make([]byte, 64)
	gate := func(name string, most float64, f func()) {
		t.Helper()
		if n := testing.AllocsPerRun(500, f); n > most {
			t.Errorf("%s: %v allocations, want at most %v", name, n, most)
		}
	}
	// The peer is crypto/tls's too, and reads in the same process.
	receive := func(n int) {
		if _, err := io.ReadFull(peer, p[:n]); err != nil {
			t.Fatal(err)
		}
	}
	gate("TryWrite", readAllocs, func() { c.TryWrite(p[:16]); receive(16) })
	gate("TryWrite2", readAllocs, func() { c.TryWrite2(p[:5], p[:16]); receive(21) })
	gate("Write", readAllocs, func() { c.Write(p[:16]); receive(16) })
	gate("Departed", 0, func() { c.Departed() })
	gate("Drained", 0, func() { c.Drained() })
	gate("Unacknowledged", 0, func() { c.Unacknowledged() })
	gate("ReadIdle", 2*readAllocs, func() {
		peer.Write(p)
		chunk, err := c.ReadIdle()
		if err != nil {
			t.Fatal(err)
		}
		chunk.Release()
	})
}

// parkedTLS is what one TLS connection may hold on the heap while ReadIdle waits:
// mostly the state of crypto/tls, which keeps the buffer of the handshake.
const parkedTLS = 9 << 10

func TestTLSAParkedConnectionHoldsNoBuffer(t *testing.T) {
	ln, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	const n = 200
	config, dial := serverConfig(t), &tls.Config{InsecureSkipVerify: true}
	wires, peers, conns := make([]net.Conn, n), make([]*tls.Conn, n), make([]*Conn, n)
	var parked sync.WaitGroup
	echoed := make(chan struct{})
	shake := func(i int, nc net.Conn) {
		defer parked.Done()
		c, err := ServeTLS(nc, config, guard)
		if err != nil {
			t.Error(err)
			return
		}
		conns[i] = c
		echoed <- struct{}{}
	}
	serve := func(c *Conn) {
		defer parked.Done()
		for {
			chunk, err := c.ReadIdle()
			if err != nil {
				return
			}
			chunk.Release()
			echoed <- struct{}{}
		}
	}
	before := heap()
	for i := range n {
		wire, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		wires[i] = wire
		nc, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		parked.Add(1)
		go shake(i, nc)
		peers[i] = tls.Client(wire, dial)
		if err := peers[i].Handshake(); err != nil {
			t.Fatal(err)
		}
		<-echoed
	}
	for i, peer := range peers { // measured after traffic, on stacks that are fresh
		parked.Add(1)
		go serve(conns[i])
		peer.Write([]byte("x"))
		<-echoed
	}
	clear(peers) // their sockets stay
	each := (int64(heap()) - int64(before)) / n
	t.Logf("heap per parked TLS connection: %d B", each)
	if each > parkedTLS {
		t.Errorf("a parked TLS connection holds %d B of heap, want at most %d", each, parkedTLS)
	}
	for i := range n {
		conns[i].Close()
		wires[i].Close()
	}
	parked.Wait()
}

func BenchmarkTLSTryWrite(b *testing.B) {
	c, peer, _ := servedPair(b, tls.VersionTLS13)
	go io.Copy(io.Discard, peer)
	p := make([]byte, 200)
	b.ReportAllocs()
	for b.Loop() {
		n, err := c.TryWrite(p)
		if err == nil && n < len(p) {
			_, err = c.Write(p[n:])
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	peer.Close()
}
