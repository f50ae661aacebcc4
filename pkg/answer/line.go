package answer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
)

// DisconnectedError tells how a /requests connection ended.
type DisconnectedError struct {
	Clean bool   // the gateway closed it, with Code
	Code  uint16 // the Close frame's status; 0: none
	Cause error  // what ended it otherwise; may be nil
}

func (e *DisconnectedError) Error() string {
	switch {
	case e.Clean && e.Code != 0:
		return fmt.Sprintf("the gateway closed the connection for asks with status %d", e.Code)
	case e.Clean:
		return "the gateway closed the connection for asks"
	case e.Cause != nil:
		return fmt.Sprintf("the connection for asks broke: %v", e.Cause)
	}
	return "the connection for asks broke"
}

func (e *DisconnectedError) Unwrap() error { return e.Cause }

// line is one /requests connection: it turns messages into exchanges.
type line struct {
	run   *run
	began time.Time
	heard atomic.Bool // an ask has come

	alive context.Context // ends with the connection: asks that have not been opened by then are lost (protocol R7)
	lose  context.CancelFunc

	ending wsock.Ending // written in Ended
}

func newLine(r *run) *line {
	l := &line{run: r, began: time.Now()}
	l.alive, l.lose = context.WithCancel(r.serving)
	return l
}

// Message implements wsock.Handler. What cannot be read is skipped: the connection carries other asks (protocol D4).
func (l *line) Message(b *codec.Buffer) *wsock.Violation {
	ask, err := codec.DecodeAsk(b.B)
	if err != nil {
		var unknown *codec.UnknownKindError
		if errors.As(err, &unknown) {
			l.run.counters.unknownKinds.Add(1)
		} else {
			l.run.counters.truncated.Add(1)
		}
		l.run.log.Warn("skipped an ask that cannot be read", "bytes", len(b.B), "error", err)
		b.Release()
		return nil
	}
	l.heard.Store(true)
	l.run.counters.asks[ask.Kind].Add(1)
	l.run.begin(l.alive, ask, b)
	return nil
}

// Ended implements wsock.Handler.
func (l *line) Ended(e wsock.Ending) {
	l.ending = e
	l.run.suspect(e)
	l.lose()
	go l.run.lost(l)
}
