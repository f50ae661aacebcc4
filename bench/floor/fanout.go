//go:build linux

package floor

import (
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// streams are the open event streams, by descriptor: writing to one is one system call.
type streams struct {
	mu  sync.Mutex
	all []stream
}

type stream struct {
	fd int
	nc net.Conn
}

func (s *streams) add(nc net.Conn) {
	raw, err := nc.(syscall.Conn).SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, stream{int(fd), nc})
	})
}

func (s *streams) remove(nc net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(have stream) bool { return have.nc == nc })
}

// trigger writes each message that comes to every event stream, as the event that the gateway makes of it. With batch the
// messages of one read go out in one write to each stream; with halves two goroutines have half of the streams each.
func (f *Floors) trigger(nc net.Conn, query string) {
	batch, halves := strings.Contains(query, "batch"), strings.Contains(query, "halves")
	write := f.streams.write
	if halves {
		var second chan []byte
		var done chan struct{}
		second, done = make(chan []byte), make(chan struct{})
		defer close(second)
		go func() {
			for event := range second {
				f.streams.write(event, 1, 2)
				done <- struct{}{}
			}
		}()
		write = func(event []byte, _, _ int) {
			second <- event
			f.streams.write(event, 0, 2)
			<-done
		}
	}
	room, events := make([]byte, 256<<10), []byte(nil)
	for n := 0; ; {
		r, err := nc.Read(room[n:])
		if err != nil {
			return
		}
		n += r
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

// write writes event to one of so many shares of the streams.
func (s *streams) write(event []byte, share, shares int) {
	s.mu.Lock()
	all := s.all
	s.mu.Unlock()
	for _, to := range all[share*len(all)/shares : (share+1)*len(all)/shares] {
		for rest := event; len(rest) > 0; {
			n, err := unix.Write(to.fd, rest)
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
