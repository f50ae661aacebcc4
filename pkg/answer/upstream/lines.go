package upstream

import (
	"bytes"
	"io"
)

// lineLimit is how much of a line is logged, in bytes.
const lineLimit = 1000

// lineLog passes on what is written to it line by line. It is used by one goroutine at a time.
type lineLog struct {
	line func(string)
	rest []byte
}

// Write implements io.Writer.
func (l *lineLog) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		part := rest
		if end >= 0 {
			part = rest[:end]
		}
		l.rest = append(l.rest, part[:min(len(part), lineLimit-len(l.rest))]...)
		if end < 0 {
			break
		}
		l.flush()
		rest = rest[end+1:]
	}
	return len(p), nil
}

// flush passes on a line that has no end yet.
func (l *lineLog) flush() {
	if text := firstLine(l.rest, lineLimit); text != "" {
		l.line(text)
	}
	l.rest = l.rest[:0]
}

// messageLines passes on the lines that can be JSON-RPC messages: those that begin with an object, or an array of
// objects. Programs print other things to standard output although MCP forbids it; one such line must not cost the
// session.
type messageLines struct {
	to    io.Writer
	noise func(string)

	state lineState
	held  []byte  // a line's beginning, while it is undecided
	other lineLog // a line that is no message
}

type lineState uint8

const (
	undecided lineState = iota
	passing
	skipping
)

// Write implements io.Writer. It does not fail: where nobody reads any more, the bytes go nowhere.
func (m *messageLines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		m.part(rest[:end])
		rest = rest[end:]
	}
	return len(p), nil
}

// part takes the next piece of a line; a newline is its last byte or not in it.
func (m *messageLines) part(p []byte) {
	if m.state == undecided {
		m.held = append(m.held, p...)
		m.state = judge(m.held)
		if m.state == undecided && len(m.held) > lineLimit {
			m.state = skipping // blanks without end
		}
		p, m.held = m.held, m.held[:0]
		if m.state == undecided {
			if p[len(p)-1] != '\n' {
				m.held = p
			}
			return
		}
	}
	if m.state == passing {
		_, _ = m.to.Write(p) // fails only when the link is closed
	} else {
		m.other.line = m.noise
		_, _ = m.other.Write(p)
	}
	if p[len(p)-1] == '\n' {
		m.state = undecided
	}
}

func judge(line []byte) lineState {
	trimmed := bytes.TrimLeft(line, " \t\r\n")
	switch {
	case len(trimmed) == 0:
		return undecided
	case trimmed[0] == '{':
		return passing
	case trimmed[0] != '[':
		return skipping
	}
	trimmed = bytes.TrimLeft(trimmed[1:], " \t")
	switch {
	case len(trimmed) == 0:
		return undecided
	case trimmed[0] == '{':
		return passing
	}
	return skipping
}
