//go:build !race

package sock

import (
	"context"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
)

func TestTheFastWaysAllocateNothing(t *testing.T) {
	c, peer := tcpPair(t)
	p := make([]byte, 64)
	gate := func(name string, f func()) {
		t.Helper()
		if n := testing.AllocsPerRun(500, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	receive := func(n int) {
		if _, err := io.ReadFull(peer, p[:n]); err != nil {
			t.Fatal(err)
		}
	}
	gate("TryWrite", func() { c.TryWrite(p[:16]); receive(16) })
	gate("TryWrite2", func() { c.TryWrite2(p[:5], p[:16]); receive(21) })
	gate("Departed", func() { c.Departed() })
	gate("Drained", func() { c.Drained() })
	gate("Unacknowledged", func() { c.Unacknowledged() })
	gate("ReadIdleWithin", func() {
		peer.Write(p)
		chunk, _, err := c.ReadIdleWithin(guard)
		if err != nil {
			t.Fatal(err)
		}
		chunk.Release()
	})
	gate("ReadIdle", func() {
		peer.Write(p)
		chunk, err := c.ReadIdle()
		if err != nil {
			t.Fatal(err)
		}
		chunk.Release()
	})
}

// TestAcceptingAllocatesLittle: package os makes two objects of a descriptor.
func TestAcceptingAllocatesLittle(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux accepts without package net, whose objects are not ours to count")
	}
	ln, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	const rounds = 200
	peers := make([]net.Conn, rounds+1)
	for i := range peers {
		if peers[i], err = net.Dial("tcp", ln.Addr().String()); err != nil {
			t.Fatal(err)
		}
		defer peers[i].Close()
	}
	if n := testing.AllocsPerRun(rounds, func() {
		nc, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		nc.Close()
	}); n > 2 {
		t.Errorf("%v allocations", n)
	}
}

// parkedHeap is what one connection may hold on the heap while ReadIdle waits:
// its descriptor, the Conn and its goroutine's descriptor, no buffer.
const parkedHeap = 800

func TestAParkedConnectionHoldsNoBuffer(t *testing.T) {
	ln, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	const n = 500
	peers := make([]*net.TCPConn, n)
	conns := make([]*Conn, n)
	var parked sync.WaitGroup
	serve := func(c *Conn, echoed chan<- struct{}) {
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
		nc, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		peers[i] = nc.(*net.TCPConn)
	}
	dialled := heap()
	for i := range n {
		nc, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = Wrap(nc)
	}
	echoed := make(chan struct{})
	for _, c := range conns {
		parked.Add(1)
		go serve(c, echoed)
	}
	for _, peer := range peers { // measured after traffic
		peer.Write([]byte("x"))
		<-echoed
	}
	each := (int64(heap()) - int64(dialled)) / n
	t.Logf("heap per parked connection: %d B (a dialled net.TCPConn alone: %d B)", each, (int64(dialled)-int64(before))/n)
	if each > parkedHeap {
		t.Errorf("a parked connection holds %d B of heap, want at most %d", each, parkedHeap)
	}
	for i := range n {
		conns[i].Close()
		peers[i].Close()
	}
	parked.Wait()
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkTryWrite(b *testing.B) {
	c, peer := tcpPair(b)
	go io.Copy(io.Discard, peer)
	p := make([]byte, 200)
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

func BenchmarkDeparted(b *testing.B) {
	c, _ := tcpPair(b)
	for b.Loop() {
		if c.Departed() {
			b.Fatal("departed")
		}
	}
}
