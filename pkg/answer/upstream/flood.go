package upstream

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Bounds of what is logged, whatever the MCP server does.
const (
	logLines  = 10          // of one message, in each logPeriod
	logPeriod = time.Second // what was left out is told at its end
	logValue  = 8 << 10     // bytes of one attribute
)

// calm is a slog.Handler that passes on only so much of the same message. A session's handlers, made with attributes or
// not, share the bounds.
type calm struct {
	slog.Handler
	bounds *bounds
}

// bounds are those of one session's log, by message: those are this package's own, a known few.
type bounds struct {
	root slog.Handler
	now  func() time.Time

	// mu is held while root tells what was left out, so that close is the end of that; root does not call back.
	mu     sync.Mutex
	closed bool
	of     map[string]*portion
}

// portion is one message's share of the period.
type portion struct {
	since   time.Time
	lines   int
	left    int // lines left out that nothing was said about
	level   slog.Level
	telling *time.Timer // runs while left is not zero
}

// newCalm makes the handler of a session's log. Its close is due at the end.
func newCalm(root slog.Handler) (calm, *bounds) {
	b := &bounds{root: root, now: time.Now, of: make(map[string]*portion)}
	return calm{root, b}, b
}

// Handle implements slog.Handler.
func (c calm) Handle(ctx context.Context, r slog.Record) error {
	if !c.bounds.admit(&r) {
		return nil
	}
	return c.Handler.Handle(ctx, clipped(r))
}

// WithAttrs implements slog.Handler.
func (c calm) WithAttrs(attrs []slog.Attr) slog.Handler {
	return calm{c.Handler.WithAttrs(attrs), c.bounds}
}

// WithGroup implements slog.Handler.
func (c calm) WithGroup(name string) slog.Handler { return calm{c.Handler.WithGroup(name), c.bounds} }

func (b *bounds) admit(r *slog.Record) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now() // not before: a line that waits here may see the period's end told
	p := b.of[r.Message]
	if p == nil {
		p = &portion{since: now}
		b.of[r.Message] = p
	}
	if now.Sub(p.since) >= logPeriod {
		p.since, p.lines = now, 0
	}
	if p.lines < logLines {
		p.lines++
		return true
	}
	p.left++
	p.level = r.Level
	if p.telling == nil && !b.closed {
		message := r.Message
		p.telling = time.AfterFunc(p.since.Add(logPeriod).Sub(now), func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.tell(message, p)
		})
	}
	return false
}

// tell says how much was left out. The caller holds mu.
func (b *bounds) tell(message string, p *portion) {
	left := p.left
	p.left, p.telling = 0, nil
	if left == 0 {
		return
	}
	r := slog.NewRecord(time.Now(), p.level, "more lines were left out", 0)
	r.AddAttrs(slog.Int("lines", left), slog.String("of", message))
	_ = b.root.Handle(context.Background(), r) // as with any line, there is nobody to tell
}

// close tells what is left to be told; nothing is later.
func (b *bounds) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for message, p := range b.of {
		if p.telling != nil {
			p.telling.Stop()
			b.tell(message, p)
		}
	}
}

// clipped is the record with attributes of a bounded size: the server decides what is in many of them.
func clipped(r slog.Record) slog.Record {
	out := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		text := ""
		switch a.Value.Kind() {
		case slog.KindString:
			text = a.Value.String()
		case slog.KindAny:
			if err, ok := a.Value.Any().(error); ok {
				text = err.Error()
			}
		}
		if len(text) > logValue {
			a.Value = slog.StringValue(string(toValidUTF8([]byte(text[:logValue]))) + "…")
		}
		out.AddAttrs(a)
		return true
	})
	return out
}
