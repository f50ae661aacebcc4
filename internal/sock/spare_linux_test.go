package sock

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAListenerLeavesDescriptorsToOthers lowers what most connections may use to
// what is in use, and has it come free again.
func TestAListenerLeavesDescriptorsToOthers(t *testing.T) {
	ln, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	Spare(ln, 8)
	l := ln.(*listener)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if want := int(limit.Cur - limit.Cur/8); l.most != want {
		t.Fatalf("most is %d of %d", l.most, limit.Cur)
	}

	dial := func() net.Conn {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	for range 4 {
		dial()
	}
	low, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	l.most = int(low.Fd()) + 1
	first, err := ln.Accept() // finds out
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	for range 3 {
		if _, err := ln.Accept(); !errors.Is(err, scarcity{}) || !passing(err) {
			t.Fatalf("%v, wanted a scarcity that passes", err)
		}
	}
	_ = low.Close()
	for range 3 { // each takes the one that is free, and finds none left
		second, err := ln.Accept()
		if err != nil {
			t.Fatalf("a descriptor is free: %v", err)
		}
		if _, err := ln.Accept(); !errors.Is(err, scarcity{}) {
			t.Fatalf("%v, wanted a scarcity again", err)
		}
		_ = second.Close()
	}
	_ = ln.Close()
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
