package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
)

// caseWithin bounds one case: the suite's own longest wait is 100 s.
const caseWithin = 110 * time.Second

// dialler is the dialling half: it opens WebSockets as pkg/answer does, to a fuzzing server that has each case wait for one.
type dialler struct {
	base string // the fuzzing server's URL
	cfg  wsock.Config
}

func newDialler(base string, onPanic func(value any, stack []byte)) *dialler {
	return &dialler{base: base, cfg: wsock.Config{Client: true, MaxMessage: maxMessage, OnPanic: onPanic}}
}

// runAll lets the fuzzing server run its cases, each with an echo, and write its reports.
func (d *dialler) runAll(ctx context.Context) error {
	n, err := d.count(ctx)
	if err != nil {
		return err
	}
	for i := range n {
		at := "/runCase?" + url.Values{"agent": {agent}, "case": {strconv.Itoa(i + 1)}}.Encode()
		if err := d.echo(ctx, at); err != nil {
			return fmt.Errorf("the suite's case number %d: %w", i+1, err)
		}
	}
	return d.echo(ctx, "/updateReports?"+url.Values{"agent": {agent}}.Encode())
}

// echo opens a WebSocket and echoes until it has ended, in whatever way: the fuzzing server judges that.
func (d *dialler) echo(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, caseWithin)
	defer cancel()
	c, err := wsock.Dial(ctx, d.base+path, nil, &d.cfg)
	if err != nil {
		return err
	}
	e := newEcho(c)
	c.Serve(e)
	return over(ctx, c, e.ended)
}

// over waits for a connection's end, and cuts it when ctx ends first.
func over(ctx context.Context, c *wsock.Conn, ended <-chan wsock.Ending) error {
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		c.Cut()
		<-ended
		return fmt.Errorf("the connection did not end: %w", ctx.Err())
	}
}

// count asks how many cases there are.
func (d *dialler) count(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, caseWithin)
	defer cancel()
	c, err := wsock.Dial(ctx, d.base+"/getCaseCount", nil, &d.cfg)
	if err != nil {
		return 0, err
	}
	a := &announcement{ended: make(chan wsock.Ending, 1)}
	c.Serve(a)
	if err := over(ctx, c, a.ended); err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(a.text)
	if err != nil || n < 1 {
		return 0, errors.Join(fmt.Errorf("the fuzzing server says that it has %q cases; --only takes numbers like 6.4.1 and patterns like 6.*", a.text), err)
	}
	return n, nil
}

// announcement is a Handler that keeps the text it hears.
type announcement struct {
	text  string // complete once ended was told
	ended chan wsock.Ending
}

// Message implements wsock.Handler.
func (a *announcement) Message(b *codec.Buffer) *wsock.Violation {
	b.Release()
	return nil
}

// Text implements wsock.TextHandler.
func (a *announcement) Text(b *codec.Buffer) *wsock.Violation {
	a.text = string(b.B)
	b.Release()
	return nil
}

// Ended implements wsock.Handler.
func (a *announcement) Ended(end wsock.Ending) { a.ended <- end }
