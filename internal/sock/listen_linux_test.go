package sock

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func option(t *testing.T, c *Conn, level, name int) int {
	t.Helper()
	var value int
	var failed error
	if err := c.raw.Control(func(fd uintptr) { value, failed = unix.GetsockoptInt(int(fd), level, name) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return value
}

func TestW4_AcceptedSocketsInheritDeadPeerDetection(t *testing.T) {
	c, _ := tcpPair(t)
	for _, o := range []struct {
		name                string
		level, option, want int
	}{
		{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{"TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 30},
		{"TCP_KEEPINTVL", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 10},
		{"TCP_KEEPCNT", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3},
		{"TCP_USER_TIMEOUT", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 60_000},
		{"TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
	} {
		if got := option(t, c, o.level, o.option); got != o.want {
			t.Errorf("%s is %d, want %d", o.name, got, o.want)
		}
	}
}

func TestSetUserTimeout(t *testing.T) {
	plain, _ := tcpPair(t)
	secure, _, _ := tlsPair(t)
	for name, c := range map[string]*Conn{"tcp": plain, "tls": secure} {
		if err := c.SetUserTimeout(1500*time.Millisecond + 1); err != nil {
			t.Fatal(name, err)
		}
	}
	if ms := option(t, plain, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); ms != 1501 {
		t.Errorf("the timeout is %d ms, want 1501", ms)
	}
	pipe, _ := pipePair(t)
	if err := pipe.SetUserTimeout(time.Second); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a user timeout on a pipe: %v", err)
	}
	plain.Close()
	if err := plain.SetUserTimeout(time.Second); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestListenNamesTheAddressItCannotHave(t *testing.T) {
	ln, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, err = Listen(context.Background(), ln.Addr().String())
	var op *net.OpError
	if !errors.As(err, &op) || op.Addr.String() != ln.Addr().String() || !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v", err)
	}
}
