package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// route is a fixed address from where a toxiproxy leads to a target. The toxiproxy is another one after a fault that breaks
// connections: what is left of the old one then hinders nobody.
type route struct {
	target   string
	listener net.Listener
	accepts  sync.WaitGroup
	links    sync.WaitGroup

	mu       sync.Mutex
	proxy    *toxic
	stranded []*toxic
	open     map[*link]struct{}
	closed   bool
}

// link is a connection and what it goes on in.
type link struct{ near, far *net.TCPConn }

func newRoute(target string) (*route, error) {
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &route{target: target, listener: l, open: make(map[*link]struct{})}
	if r.proxy, err = newToxic(target); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	r.accepts.Go(r.accept)
	return r, nil
}

func (r *route) address() string { return r.listener.Addr().String() }

func (r *route) accept() {
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.links.Go(func() { r.serve(c.(*net.TCPConn)) })
	}
}

func (r *route) serve(near *net.TCPConn) {
	defer near.Close()
	c, err := net.DialTimeout("tcp", r.toxic().address(), time.Second)
	if err != nil {
		reset(near)
		return
	}
	l := &link{near, c.(*net.TCPConn)}
	defer l.far.Close()
	r.mu.Lock()
	r.open[l] = struct{}{}
	closed := r.closed
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.open, l)
	}()
	if closed {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { pass(l.far, l.near) })
	both.Go(func() { pass(l.near, l.far) })
	both.Wait()
}

// pass passes on what one side says, how it ends too: an end is an end, a reset a reset.
func pass(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err == nil && to.CloseWrite() == nil {
		return
	}
	reset(to)
	reset(from)
}

func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // it may be closed already
	_ = c.Close()
}

func (r *route) toxic() *toxic {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.proxy
}

// cut resets every connection.
func (r *route) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range r.open {
		reset(l.near)
		reset(l.far)
	}
}

// renew cuts every connection and goes on with a toxiproxy without toxics.
func (r *route) renew() error {
	next, err := newToxic(r.target)
	if err != nil {
		return err
	}
	r.mu.Lock()
	old := r.proxy
	r.proxy = next
	r.mu.Unlock()
	r.cut()
	old.abandon()
	return nil
}

// strand has every connection stay open while nothing passes any more, and both sides' systems see it acknowledged. New
// connections are whole.
func (r *route) strand() error {
	next, err := newToxic(r.target)
	if err != nil {
		return err
	}
	r.mu.Lock()
	old := r.proxy
	r.proxy = next
	r.stranded = append(r.stranded, old)
	r.mu.Unlock()
	for _, stream := range []string{upstreamward, downstreamward} {
		if err := old.add(poison{Name: "stranded " + stream, Type: "timeout", Stream: stream, Attributes: map[string]any{"timeout": 0}}); err != nil {
			return err
		}
	}
	return nil
}

func (r *route) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	_ = r.listener.Close()
	r.accepts.Wait()
	r.cut()
	r.links.Wait()
	for _, t := range append(r.stranded, r.proxy) {
		t.abandon()
	}
}
