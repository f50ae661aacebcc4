package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Kinds of asks that this program knows.
const (
	kindCall          = 2
	kindNotifications = 4
)

// How long the provider waits for the gateway: it comes back when that is over.
const (
	handshakeWait = 2 * time.Second
	closeWait     = 2 * time.Second
	pingEvery     = time.Second
	silenceWait   = 3 * time.Second
	redialWait    = 20 * time.Millisecond
)

// provider is a provider's server for one container, of this program's own.
type provider struct {
	container string
	address   string
	ledger    *ledger
	fault     func(format string, args ...any)

	ctx     context.Context
	running sync.WaitGroup
}

// path is a WebSocket of the provider's.
type path struct {
	*net.TCPConn
	in *bufio.Reader
}

// ask is what the gateway announces.
type ask struct {
	channel uint32
	kind    byte
	payload []byte
}

func (p *provider) start(ctx context.Context) {
	p.ctx = ctx
	p.running.Go(func() {
		for ctx.Err() == nil {
			p.listen()
			rest(ctx, redialWait)
		}
	})
}

// rest waits, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// dial opens a path at the address. The connection ends with ctx.
func dial(ctx context.Context, address, target string) (*path, func(), error) {
	d := net.Dialer{Timeout: handshakeWait}
	nc, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, nil, err
	}
	p := &path{nc.(*net.TCPConn), bufio.NewReader(nc)}
	stop := context.AfterFunc(ctx, func() { p.Close() })
	end := func() {
		stop()
		p.Close()
	}
	_ = p.SetDeadline(time.Now().Add(handshakeWait)) // what is wrong with the connection, Write says
	if _, err = p.Write(upgrade(target)); err == nil {
		err = readSwitching(p.in)
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	_ = p.SetDeadline(time.Time{})
	return p, end, nil
}

func (p *provider) at(path string) string { return "/containers/" + p.container + path }

// listen is the life of one /requests connection.
func (p *provider) listen() {
	line, end, err := dial(p.ctx, p.address, p.at("/requests"))
	if err != nil {
		return
	}
	defer end()
	alive, lose := context.WithCancel(p.ctx)
	defer lose()
	p.running.Go(func() { line.keep(alive) })
	for {
		_ = line.SetReadDeadline(time.Now().Add(silenceWait))
		op, message, err := readFrame(line.in)
		switch {
		case err != nil:
			return
		case op == opPing:
			_, err = line.Write(frame(opPong, message))
		case op == opClose:
			_, _ = line.Write(closeFrame()) // it ends in any case
			return
		case op == opBinary && len(message) < 5:
			p.fault("an ask of %d bytes", len(message))
		case op == opBinary:
			a := ask{binary.BigEndian.Uint32(message), message[4], message[5:]}
			p.running.Go(func() { p.serve(alive, a) })
		}
		if err != nil {
			return
		}
	}
}

// keep pings, so that a connection which goes nowhere is noticed.
func (p *path) keep(ctx context.Context) {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if _, err := p.Write(frame(opPing, nil)); err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// serve answers an ask on its path, which it tries to open for as long as the connection that announced it lives.
func (p *provider) serve(announced context.Context, a ask) {
	if a.kind != kindCall {
		p.notify(announced, a)
		return
	}
	for announced.Err() == nil {
		path, end, err := dial(p.ctx, p.address, p.at(fmt.Sprintf("/mcp/call-tool/%d", a.channel)))
		if err == nil {
			defer end()
			message, err := carryOut(p.ctx, p.ledger, a.payload)
			if err != nil {
				p.fault("an ask that cannot be carried out: %v", err)
				return
			}
			path.send(message)
			return
		}
		if refused := new(refusedError); errors.As(err, &refused) && (refused.status == http.StatusNotFound || refused.status == http.StatusConflict) {
			return
		}
		rest(announced, redialWait)
	}
}

// notify opens the notifications path, and says nothing on it.
func (p *provider) notify(announced context.Context, a ask) {
	path, end, err := dial(announced, p.address, p.at(fmt.Sprintf("/mcp/notifications/%d", a.channel)))
	if err != nil {
		return
	}
	defer end()
	for {
		op, payload, err := readFrame(path.in)
		if err != nil || op == opClose {
			return
		}
		if op == opPing {
			_, _ = path.Write(frame(opPong, payload)) // if it failed, reading does too
		}
	}
}

// carryOut does what an ask's payload says, and returns the answer's message.
func carryOut(ctx context.Context, l *ledger, payload []byte) ([]byte, error) {
	var called params
	if err := json.Unmarshal(payload, &called); err != nil {
		return nil, err
	}
	held, err := l.execute(called.Arguments.Say)
	if err != nil {
		return nil, err
	}
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
		}
	}
	rest(ctx, time.Duration(called.Arguments.Millis)*time.Millisecond)
	result, err := json.Marshal(resultOf(called.Arguments.Say))
	return append([]byte{0}, result...), err
}

// send answers on an open path: one message, a Close, and the gateway's Close.
func (p *path) send(message []byte) {
	_ = p.SetDeadline(time.Now().Add(closeWait))
	if _, err := p.Write(append(frame(opBinary, message), closeFrame()...)); err != nil {
		return
	}
	for {
		if op, _, err := readFrame(p.in); err != nil || op == opClose {
			return
		}
	}
}
