//go:build linux

package wire

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// User is what a Far end is read for. Its methods are called on the loop's thread.
type User interface {
	// Arrived is given everything that has arrived and was not done with yet, borrowed until it returns, and returns how much
	// of it is done with. An error ends the loop.
	Arrived(f *Far, b []byte) (done int, err error)
	// Ended says that the other side ended its half, or the connection. An error ends the loop.
	Ended(f *Far, cause error) error
}

// Loop serves its Far ends on one thread. Everything of it but Stop belongs to that thread, and to whoever set it up before.
type Loop struct {
	// Due is called after each round of events, if it is set, and says when it wants to be called again at the latest, on
	// Clock: for what has its time.
	Due func() (again int64, err error)

	epoll    int
	far      []*Far // by descriptor
	room     []byte
	events   []unix.EpollEvent
	stopping atomic.Bool
}

// room is the most that one read takes.
const room = 256 << 10

// NewLoop makes a loop without Far ends.
func NewLoop() (*Loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &Loop{epoll: epoll, room: make([]byte, room), events: make([]unix.EpollEvent, 256)}, nil
}

// Far is one far end of a loop. It may be used again once it was closed.
type Far struct {
	User User
	FD   int
	// At is when the kernel received what arrived last, on Now, if the end is Stamped.
	At int64

	loop    *Loop
	life    uint32 // counts the connections f has been
	stamped bool
	kept    []byte // arrived, and not done with
	out     []byte // not taken by the socket yet
	sent    int    // of out
}

// Open connects f, which must be closed or new, in the loop.
func (l *Loop) Open(f *Far, to *unix.SockaddrInet4) error {
	// A blocking connect on loopback returns as soon as the listener's queue has it.
	fd, err := connect(to, 0)
	if err != nil {
		return err
	}
	return l.Adopt(f, Peer(fd))
}

// Adopt makes p a Far end of the loop, which owns it.
func (l *Loop) Adopt(f *Far, p Peer) error {
	fd := int(p)
	f.FD, f.loop, f.kept, f.out, f.sent = fd, l, f.kept[:0], nil, 0
	f.life++
	for fd >= len(l.far) {
		l.far = append(l.far, make([]*Far, max(1024, len(l.far)))...)
	}
	l.far[fd] = f
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// Close closes f.
func (f *Far) Close() {
	if f.loop == nil {
		return
	}
	f.loop.far[f.FD] = nil
	f.loop = nil
	_ = unix.Close(f.FD) // and out of epoll with it
}

// Gone reports, without the loop, that the other side has ended the connection and nothing of it is unread.
func (f *Far) Gone() bool {
	var b [1]byte
	n, err := peek(f.FD, b[:])
	return n == 0 && err == nil || err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
}

// Send sends b. What the socket does not take at once is sent later, and borrowed until then.
func (f *Far) Send(b []byte) error {
	if f.out != nil {
		return errors.New("the far end was given more while something was still to be sent")
	}
	n, err := send(f.FD, b)
	if err != nil && !errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("write: %w", err)
	}
	if n == len(b) {
		return nil
	}
	f.out, f.sent = b, n
	return f.interest(unix.EPOLLIN | unix.EPOLLOUT)
}

func (f *Far) interest(events uint32) error {
	return unix.EpollCtl(f.loop.epoll, unix.EPOLL_CTL_MOD, f.FD, &unix.EpollEvent{Events: events, Fd: int32(f.FD)})
}

func (f *Far) sendOn() error {
	n, err := send(f.FD, f.out[f.sent:])
	if err != nil && !errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("write: %w", err)
	}
	if f.sent += n; f.sent < len(f.out) {
		return nil
	}
	f.out = nil
	return f.interest(unix.EPOLLIN)
}

// Stop ends Run, now or as soon as it is called.
func (l *Loop) Stop() { l.stopping.Store(true) }

// tick is how soon Run notices a Stop when nothing arrives.
const tick = int64(20 * time.Millisecond)

// Run serves the Far ends until Stop or an error. It may be run again.
func (l *Loop) Run() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer l.stopping.Store(false)
	for wait := int64(0); !l.stopping.Load(); {
		n, err := l.wait(wait)
		if err != nil {
			return err
		}
		for i := range n {
			if f := l.far[l.events[i].Fd]; f != nil {
				if err := f.serve(l.events[i].Events); err != nil {
					return err
				}
			}
		}
		wait = tick
		if l.Due != nil {
			again, err := l.Due()
			if err != nil {
				return err
			}
			wait = min(tick, max(0, again-Clock()))
		}
	}
	return nil
}

// wait is epoll_pwait2, whose time is finer than epoll_wait's milliseconds.
func (l *Loop) wait(ns int64) (int, error) {
	timeout := unix.NsecToTimespec(ns)
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.epoll), uintptr(unsafe.Pointer(&l.events[0])), uintptr(len(l.events)),
		uintptr(unsafe.Pointer(&timeout)), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR:
		return 0, nil
	}
	return 0, errno
}

func (f *Far) serve(events uint32) error {
	if events&unix.EPOLLOUT != 0 && f.out != nil {
		if err := f.sendOn(); err != nil {
			return err
		}
	}
	if events&^unix.EPOLLOUT == 0 {
		return nil
	}
	l := f.loop
	kept := copy(l.room, f.kept)
	if kept == len(l.room) {
		return fmt.Errorf("%d bytes arrived and mean nothing: %.200q", kept, f.kept)
	}
	var n int
	var err error
	if f.stamped {
		n, f.At, err = recvStamped(f.FD, l.room[kept:])
	} else {
		n, err = recv(f.FD, l.room[kept:])
	}
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return nil
	case err != nil || n == 0:
		return f.User.Ended(f, err)
	}
	b, life := l.room[:kept+n], f.life
	done, err := f.User.Arrived(f, b)
	if err != nil {
		return err
	}
	if f.loop != nil && f.life == life { // it may have been closed, and opened anew
		f.kept = append(f.kept[:0], b[done:]...)
	}
	return nil
}

// Close closes the loop and what is still open in it.
func (l *Loop) Close() {
	for _, f := range l.far {
		if f != nil {
			f.Close()
		}
	}
	_ = unix.Close(l.epoll)
}

// Clock is the time since some beginning, in nanoseconds.
func Clock() int64 { return int64(time.Since(began)) }

var began = time.Now()
