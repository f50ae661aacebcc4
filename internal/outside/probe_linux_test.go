package outside

import (
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

func TestR5_ARefusedClaimPingsTheHolderUnderAShortTimeout(t *testing.T) {
	t.Parallel()
	w := begin(t)
	p := w.provider("default")
	held := w.held(t)
	if got := userTimeout(t, held); got != sock.UserTimeout {
		t.Fatalf("TCP_USER_TIMEOUT is %v to begin with", got)
	}
	for range 2 { // the second finds a probe under way
		if got := wstest.Refused(t, w.addr, "/requests"); got.Status != http.StatusConflict {
			t.Fatalf("%d", got.Status)
		}
	}
	pings := 0
	barrier(w, p.requests, func(f wstest.Frame) {
		if f.Op != wstest.OpPing {
			t.Fatalf("wanted a ping, got %v", f)
		}
		pings++
	})
	if pings != 1 { // another would have its time cut short by the first one's end
		t.Errorf("%d pings for one probe", pings)
	}
	if got := userTimeout(t, held); got != probeTimeout {
		t.Errorf("TCP_USER_TIMEOUT is %v during the probe", got)
	}
	eventually(t, "the timeout is what it was", func() bool { return userTimeout(t, held) == sock.UserTimeout })
	wstest.Refused(t, w.addr, "/requests")
	p.requests.ReadPing() // it can be probed again
}

func TestR5_AHalfOpenHolderDoesNotKeepTheNextOneOut(t *testing.T) {
	t.Parallel()
	w := begin(t)
	deafen(t, w.provider("default").requests.NC)
	began := time.Now()
	var next *wstest.Peer
	eventually(t, "the next connection is taken", func() bool {
		peer, response, err := wstest.Try(w.addr, "/requests")
		if err != nil || peer == nil && response.Status != http.StatusConflict {
			t.Fatalf("%+v %v", response, err)
		}
		next = peer
		return peer != nil
	})
	_ = next.NC.Close()
	if took := time.Since(began); took < probeTimeout/2 {
		t.Errorf("the holder was given up after %v, without being given %v", took, probeTimeout)
	}
}

func userTimeout(t *testing.T, c net.Conn) (d time.Duration) {
	t.Helper()
	control(t, c, func(fd int) {
		ms, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
		if err != nil {
			t.Fatal(err)
		}
		d = time.Duration(ms) * time.Millisecond
	})
	return d
}

// deafen has the kernel drop every segment that comes for c, acknowledgements
// and all: for the other end it is as if the host had lost its network.
func deafen(t *testing.T, c net.Conn) {
	t.Helper()
	control(t, c, func(fd int) {
		drop := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K}}
		if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &drop[0]}); err != nil {
			t.Fatal(err)
		}
	})
}

func control(t *testing.T, c net.Conn, f func(fd int)) {
	t.Helper()
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { f(int(fd)) }); err != nil {
		t.Fatal(err)
	}
}
