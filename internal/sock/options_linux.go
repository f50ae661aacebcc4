package sock

import (
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// listenConfig sets the options on the listener, from which accepted sockets
// inherit them: nothing is left to do per connection.
func listenConfig() net.ListenConfig {
	return net.ListenConfig{
		KeepAlive: -1,
		Control: func(_, _ string, raw syscall.RawConn) error {
			var failed error
			if err := raw.Control(func(fd uintptr) { failed = detectDeadPeers(int(fd)) }); err != nil {
				return err
			}
			return failed
		},
	}
}

func detectDeadPeers(fd int) error {
	for _, o := range []struct{ level, name, value int }{
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, int(keepAliveIdle / time.Second)},
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, int(keepAliveInterval / time.Second)},
		{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepAliveCount},
	} {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	return setUserTimeout(uintptr(fd), UserTimeout)
}

func setUserTimeout(fd uintptr, d time.Duration) error {
	ms := int((d + time.Millisecond - 1) / time.Millisecond)
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, ms))
}
