package codec

import (
	"bytes"
	"io"
)

// walker reads an object whose syntax was checked when it came in, several
// times as fast as a scanner: it looks for where values end and at nothing in
// them. What it makes of bytes that are not JSON means nothing, but is safe.
type walker struct {
	src []byte
	at  int // what was read last ends here

	name, value []byte // the member that next read, name unescaped
	nameAt      int    // where the name begins, as it is spelled
	valueAt     int

	bad bool // src is not JSON after all
}

// walk begins to read b.
func walk(b []byte) walker { return walker{src: b} }

// enter reads a brace, bracket or colon, if that comes next.
func (w *walker) enter(opening byte) bool {
	if w.peek() != opening {
		return false
	}
	w.at++
	return true
}

// next reads a member, or the end of the object: then it returns false.
func (w *walker) next() bool { return w.nextName() && w.element() }

// nextName is next for a caller who reads the value by itself.
func (w *walker) nextName() bool {
	if !w.more('}') {
		return false
	}
	w.nameAt = w.at
	w.skip()
	w.name = w.text(w.src[w.nameAt:w.at:w.at])
	w.bad = w.bad || !w.enter(':')
	return !w.bad
}

func (w *walker) more(closing byte) bool {
	if w.peek() == ',' {
		w.at++
	}
	if w.peek() == closing {
		w.at++
		return false
	}
	return !w.bad
}

// element reads a value.
func (w *walker) element() bool {
	w.peek()
	w.valueAt = w.at
	w.skip()
	w.value = w.src[w.valueAt:w.at:w.at]
	return !w.bad
}

// text returns what a string spells.
func (w *walker) text(quoted []byte) []byte {
	sound := len(quoted) >= len(`""`) && isString(quoted)
	if sound && bytes.IndexByte(quoted, '\\') >= 0 {
		sound = CheckJSON(quoted) == nil // unquote depends on it
	}
	if !sound {
		w.bad = true
		return nil
	}
	return unquote(quoted)
}

// peek skips space and returns the byte after it; 0 at the end of src, where
// src is bad.
func (w *walker) peek() byte {
	for ; w.at < len(w.src); w.at++ {
		switch c := w.src[w.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	w.bad = true
	return 0
}

// skip reads a value.
func (w *walker) skip() {
	n := valueLen(w.src[w.at:])
	w.at += n
	w.bad = w.bad || n == 0
}

// valueLen returns how long the value is that b begins with, 0 if it has no
// end.
func valueLen(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"':
		return stringLen(b)
	case '{', '[':
		return containerLen(b)
	}
	for i, c := range b {
		switch c {
		case ',', ':', '}', ']', ' ', '\t', '\r', '\n':
			return i
		}
	}
	return len(b)
}

func containerLen(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c == '"' {
			n := stringLen(b[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
			continue
		}
		switch deeper := nesting[c]; {
		case deeper > 0:
			depth++
		case deeper < 0:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// nesting says what a byte outside strings does to the depth.
var nesting = [256]int8{'{': 1, '[': 1, '}': -1, ']': -1}

func stringLen(b []byte) int {
	for at := 1; at < len(b); {
		n := bytes.IndexByte(b[at:], '"')
		if n < 0 {
			return 0
		}
		quote := at + n
		escapes := quote
		for escapes > at && b[escapes-1] == '\\' {
			escapes--
		}
		at = quote + 1
		if (quote-escapes)%2 == 0 {
			return at
		}
	}
	return 0
}

// failure says why what reads an object stopped early.
func (w *walker) failure() error {
	return &SyntaxError{Offset: int64(w.at), Err: io.ErrUnexpectedEOF}
}
