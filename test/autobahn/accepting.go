package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/httphead"
	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/internal/wsock"
)

// headWithin bounds how long a connection may take to ask for its upgrade.
const headWithin = 10 * time.Second

// echoServer is the accepting half: it takes WebSockets as the gateway's outside listener does, and echoes on each.
type echoServer struct {
	ln       net.Listener
	cfg      wsock.Config
	stopping chan struct{}
	accepts  sync.WaitGroup // the accept loop, and each connection until it has ended

	mu   sync.Mutex // guards open
	open map[io.Closer]struct{}
}

// listen starts an echo server on a free port of loopback.
func listen(ctx context.Context, onPanic func(value any, stack []byte)) (*echoServer, error) {
	ln, err := sock.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &echoServer{ln: ln, stopping: make(chan struct{}), open: map[io.Closer]struct{}{}}
	s.cfg = wsock.Config{MaxMessage: maxMessage, OnPanic: onPanic}
	s.accepts.Go(func() {
		if err := sock.Accept(ln, s.stopping, slog.Default(), s.take); err != nil {
			fmt.Fprintln(os.Stderr, "autobahn: the echo server's listener:", err)
		}
	})
	return s, nil
}

func (s *echoServer) url() string { return "ws://" + s.ln.Addr().String() }

// stop ends the listener and every connection, and waits for them.
func (s *echoServer) stop() {
	close(s.stopping)
	_ = s.ln.Close()
	s.mu.Lock()
	for c := range s.open {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.accepts.Wait()
}

func (s *echoServer) take(nc net.Conn) {
	s.accepts.Go(func() {
		s.note(nc, true)
		defer s.note(nc, false)
		if err := s.serve(nc); err != nil {
			fmt.Fprintln(os.Stderr, "autobahn: the echo server refused a connection:", err)
			_ = nc.Close()
		}
	})
}

func (s *echoServer) note(c io.Closer, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open {
		s.open[c] = struct{}{}
	} else {
		delete(s.open, c)
	}
}

// serve upgrades a connection and returns when it has ended.
func (s *echoServer) serve(nc net.Conn) error {
	if err := nc.SetReadDeadline(time.Now().Add(headWithin)); err != nil {
		return err
	}
	in := httphead.TakeReader(nc)
	defer httphead.GiveBack(in)
	var header fasthttp.RequestHeader
	if err := httphead.Read(in, &header); err != nil {
		return err
	}
	key, err := wsock.CheckUpgrade(&header)
	if err != nil {
		return err
	}
	if err := nc.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	early, _ := in.Peek(in.Buffered())
	c := wsock.New(nc, early, &s.cfg)
	c.Prefix(wsock.AppendSwitching(nil, key))
	c.Flush()
	c.Run(newEcho(c))
	return nil
}
