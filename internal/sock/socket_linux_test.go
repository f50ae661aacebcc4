package sock

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asNet fails unless err is what package net would have said.
func asNet(t *testing.T, what string, err, want error, timeout bool) {
	t.Helper()
	var op *net.OpError
	if !errors.As(err, &op) || !errors.Is(err, want) || op.Timeout() != timeout {
		t.Errorf("%s: %v, wanted an OpError that is %v", what, err, want)
	}
}

func TestASocketFailsAsPackageNetsDo(t *testing.T) {
	c, peer := tcpPair(t)
	b := make([]byte, 1)
	if err := c.SetDeadline(longAgo); err != nil {
		t.Fatal(err)
	}
	_, err := c.Read(b)
	asNet(t, "a read past its deadline", err, os.ErrDeadlineExceeded, true)
	_, err = c.Write(b)
	asNet(t, "a write past its deadline", err, os.ErrDeadlineExceeded, true)
	if err := c.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	peer.SetLinger(0)
	peer.Close()
	_, err = c.Read(b)
	asNet(t, "a read after a reset", err, syscall.ECONNRESET, false)
	_, err = c.Write(b)
	asNet(t, "a write after a reset", err, syscall.EPIPE, false)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	_, err = c.Read(b)
	asNet(t, "a read after Close", err, net.ErrClosed, false)
	_, err = c.Write(b)
	asNet(t, "a write after Close", err, net.ErrClosed, false)
	asNet(t, "a second Close", c.Close(), net.ErrClosed, false)
	asNet(t, "a deadline after Close", c.SetDeadline(time.Now()), net.ErrClosed, false)
	asNet(t, "the end of a half after Close", c.CloseWrite(), net.ErrClosed, false)
	for what, err := range map[string]error{
		"ReadIdle": func() error { _, err := c.ReadIdle(); return err }(),
		"TryWrite": func() error { _, err := c.TryWrite(b); return err }(),
	} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
}

func TestASocketEndsOneHalf(t *testing.T) {
	c, peer := tcpPair(t)
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := peer.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the peer read %v", err)
	}
	peer.Write([]byte("x"))
	if n, err := c.Read(make([]byte, 2)); n != 1 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	peer.Close()
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("read %v, wanted the end", err)
	}
}

func TestASocketKnowsItsAddresses(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		ln, err := Listen(context.Background(), addr)
		if err != nil {
			t.Skipf("%s: %v", addr, err)
		}
		defer ln.Close()
		c, peer := accepted(t, ln)
		if c.LocalAddr().String() != peer.RemoteAddr().String() || c.RemoteAddr().String() != peer.LocalAddr().String() {
			t.Errorf("%v and %v, the peer has %v and %v", c.LocalAddr(), c.RemoteAddr(), peer.LocalAddr(), peer.RemoteAddr())
		}
		c.Close()
		if got := c.RemoteAddr().(*net.TCPAddr); got.Port != 0 {
			t.Errorf("after Close: %v", got)
		}
	}
}

func TestAListenerEndsThoseWhoAccept(t *testing.T) {
	ln, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var accepting sync.WaitGroup
	for range 3 {
		accepting.Go(func() {
			_, err := ln.Accept()
			asNet(t, "Accept of a closed listener", err, net.ErrClosed, false)
		})
	}
	if err := ln.Close(); err != nil {
		t.Error(err)
	}
	accepting.Wait()
	asNet(t, "a second Close", ln.Close(), net.ErrClosed, false)
	if nc, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		nc.Close()
		t.Error("it still listens")
	}
}

func TestALackOfDescriptorsPasses(t *testing.T) {
	ln, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	peer, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := unix.Rlimit{Cur: 0, Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, err = ln.Accept()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, syscall.EMFILE) || !passing(err) {
		t.Errorf("%v", err)
	}
	nc, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

func TestReadIdleWithinIsTimedOnlyWhereItWaits(t *testing.T) {
	c, peer := tcpPair(t)
	peer.Write([]byte("x"))
	eventually(t, "it is here", func() bool { return unread(c.raw) })
	chunk, timed, err := c.ReadIdleWithin(time.Nanosecond)
	if err != nil || timed || string(chunk.B) != "x" {
		t.Fatalf("what was there: timed %t, %v", timed, err)
	}
	chunk.Release()
	if _, timed, err := c.ReadIdleWithin(time.Millisecond); !timed || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("what was not: timed %t, %v", timed, err)
	}
	if _, err := c.ReadIdle(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the deadline is no later read's: %v", err)
	}
	c.SetReadDeadline(time.Time{})
	peer.Write([]byte("y"))
	chunk, _, err = c.ReadIdleWithin(guard)
	if err != nil || string(chunk.B) != "y" {
		t.Fatalf("after the deadline was taken back: %v", err)
	}
	chunk.Release()
	c.Close()
	if _, timed, err := c.ReadIdleWithin(guard); timed || !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: timed %t, %v", timed, err)
	}
	pipe, far := pipePair(t)
	if _, timed, err := pipe.ReadIdleWithin(time.Millisecond); !timed || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a pipe: timed %t, %v", timed, err)
	}
	far.Close()
}
