//go:build linux

package floor

import (
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/diverge-network/gateway/internal/sock"
)

// streams are the open event streams, by descriptor: writing to one is one system call.
type streams struct {
	mu  sync.Mutex
	all []stream
}

type stream struct {
	fd   int
	nc   net.Conn
	pair string // whose it is; empty: everybody's
}

func (s *streams) add(nc net.Conn, pair string) {
	raw, err := nc.(syscall.Conn).SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, stream{int(fd), nc, pair})
	})
}

func (s *streams) remove(nc net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(have stream) bool { return have.nc == nc })
}

// of is the streams of a pair alone.
func (s *streams) of(pair string) *streams {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &streams{all: slices.DeleteFunc(slices.Clone(s.all), func(one stream) bool { return one.pair != pair })}
}

// trigger writes each message that comes to every event stream, as the event that the gateway makes of it. With batch the
// messages of one read go out in one write to each stream; with halves two goroutines have half of the streams each; with a
// pair only the stream that was opened with the same one hears it.
func (f *Floors) trigger(nc net.Conn, query string) {
	batch, halves := strings.Contains(query, "batch"), strings.Contains(query, "halves")
	to := &f.streams
	if strings.HasPrefix(query, pairQuery) {
		to = to.of(query)
	}
	write := to.write
	if halves {
		var second chan []byte
		var done chan struct{}
		second, done = make(chan []byte), make(chan struct{})
		defer close(second)
		go func() {
			for event := range second {
				to.write(event, 1, 2)
				done <- struct{}{}
			}
		}()
		write = func(event []byte, _, _ int) {
			second <- event
			to.write(event, 0, 2)
			<-done
		}
	}
	room, events := make([]byte, 256<<10), []byte(nil)
	c := sock.Wrap(nc)
	for n := 0; ; {
		chunk, err := c.ReadIdle()
		if err != nil {
			return
		}
		n += copy(room[n:], chunk.B)
		chunk.Release()
		rest := room[:n]
		events = events[:0]
		for {
			_, payload, after, ok := unframe(rest)
			if !ok {
				break
			}
			rest = after
			events = append(append(append(events, "event: message\ndata: {\"jsonrpc\":\"2.0\","...), payload[2:]...), "\n\n"...)
			if !batch {
				write(events, 0, 1)
				events = events[:0]
			}
		}
		if len(events) > 0 {
			write(events, 0, 1)
		}
		n = copy(room, rest)
	}
}

// sendNow is a write that never waits, so that the scheduler is not told that it might.
func sendNow(fd int, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// write writes event to one of so many shares of the streams.
func (s *streams) write(event []byte, share, shares int) {
	s.mu.Lock()
	all := s.all
	s.mu.Unlock()
	for _, to := range all[share*len(all)/shares : (share+1)*len(all)/shares] {
		for rest := event; len(rest) > 0; {
			n, err := sendNow(to.fd, rest)
			switch {
			case err == nil:
				rest = rest[n:]
			case errors.Is(err, unix.EAGAIN):
				_, _ = unix.Poll([]unix.PollFd{{Fd: int32(to.fd), Events: unix.POLLOUT}}, 1000)
			case !errors.Is(err, unix.EINTR):
				rest = nil // it left
			}
		}
	}
}
