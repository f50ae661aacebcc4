package sock

import (
	"errors"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// scripted is a listener whose accepts are laid down beforehand.
type scripted struct {
	net.Listener
	accepts []func() (net.Conn, error)
}

func (l *scripted) Accept() (net.Conn, error) {
	next := l.accepts[0]
	l.accepts = l.accepts[1:]
	return next()
}

func fails(errno syscall.Errno) func() (net.Conn, error) {
	return func() (net.Conn, error) { return nil, &net.OpError{Op: "accept", Err: errno} }
}

func TestAcceptOutlivesALackOfDescriptorsAndGivesUpAListenerThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, far := net.Pipe()
		defer conn.Close()
		defer far.Close()
		gone := errors.New("gone")
		ln := &scripted{accepts: []func() (net.Conn, error){
			fails(syscall.EMFILE), fails(syscall.ENFILE), fails(syscall.ECONNABORTED),
			func() (net.Conn, error) { return conn, nil },
			func() (net.Conn, error) { return nil, gone },
		}}
		var taken []net.Conn
		var log strings.Builder
		err := Accept(ln, make(chan struct{}), slog.New(slog.NewTextHandler(&log, nil)), func(c net.Conn) { taken = append(taken, c) })
		if !errors.Is(err, gone) || len(taken) != 1 || taken[0] != conn || len(ln.accepts) != 0 {
			t.Errorf("%v, took %v, %d accepts were not tried", err, taken, len(ln.accepts))
		}
		if strings.Count(log.String(), "cannot be accepted") != 1 {
			t.Errorf("logged %q, wanted one line", log.String())
		}
	})
}

// TestAShortageIsLoggedOnce has descriptors come free and be taken again, as they
// do while somebody holds all of them.
func TestAShortageIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, far := net.Pipe()
		defer conn.Close()
		defer far.Close()
		pass := func(d time.Duration) func() (net.Conn, error) {
			return func() (net.Conn, error) {
				<-time.After(d)
				return conn, nil
			}
		}
		ln := &scripted{}
		for range 100 {
			ln.accepts = append(ln.accepts, fails(syscall.EMFILE), pass(relief-time.Second))
		}
		ln.accepts = append(ln.accepts, pass(2*relief), fails(syscall.EMFILE),
			func() (net.Conn, error) { return nil, errors.New("gone") })
		var log strings.Builder
		_ = Accept(ln, make(chan struct{}), slog.New(slog.NewTextHandler(&log, nil)), func(net.Conn) {})
		if n := strings.Count(log.String(), "cannot be accepted"); n != 2 {
			t.Errorf("%d lines, wanted one for each of two shortages", n)
		}
	})
}

func TestAcceptEndsWhenItIsToldToStop(t *testing.T) {
	stopping := make(chan struct{})
	ln := &scripted{accepts: []func() (net.Conn, error){
		func() (net.Conn, error) {
			close(stopping)
			return nil, net.ErrClosed
		},
	}}
	if err := Accept(ln, stopping, slog.New(slog.DiscardHandler), nil); err != nil {
		t.Error(err)
	}
}

func TestAcceptDoesNotRestOnceItIsToldToStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopping := make(chan struct{})
		ended := make(chan error)
		ln := &scripted{accepts: []func() (net.Conn, error){
			fails(syscall.EMFILE), fails(syscall.EMFILE), fails(syscall.EMFILE),
			func() (net.Conn, error) { return nil, net.ErrClosed },
		}}
		go func() { ended <- Accept(ln, stopping, slog.New(slog.DiscardHandler), nil) }()
		synctest.Wait() // in its first pause
		close(stopping)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
