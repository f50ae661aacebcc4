package codec

import (
	"bytes"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote returns what a valid JSON string spells: a view of it, or a new
// slice where it has escapes.
//
// A lone surrogate, which no UTF-8 can hold, becomes the three bytes that
// UTF-8 would give it (WTF-8), so that different strings stay different.
func unquote(quoted []byte) []byte {
	s := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(s, '\\') < 0 {
		return slices.Clip(s)
	}
	text := make([]byte, 0, len(s))
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(text, s...)
		}
		text = append(text, s[:i]...)
		s = s[i+1:]
		n := 1
		switch c := s[0]; c {
		case 'b':
			text = append(text, '\b')
		case 'f':
			text = append(text, '\f')
		case 'n':
			text = append(text, '\n')
		case 'r':
			text = append(text, '\r')
		case 't':
			text = append(text, '\t')
		case 'u':
			n = len("uXXXX")
			r := codeUnit(s[1:5])
			if low, ok := escaped(s[n:]); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
				r = utf16.DecodeRune(r, low)
				n += len(`\uXXXX`)
			}
			text = appendRune(text, r)
		default: // '"', '\\' or '/'
			text = append(text, c)
		}
		s = s[n:]
	}
}

// escaped returns the code unit of the \uXXXX escape that s begins with.
func escaped(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	return codeUnit(s[2:6]), true
}

func codeUnit(digits []byte) (r rune) {
	for _, c := range digits {
		switch {
		case c >= 'a':
			c -= 'a' - 10
		case c >= 'A':
			c -= 'A' - 10
		default:
			c -= '0'
		}
		r = r<<4 | rune(c)
	}
	return r
}

func appendRune(text []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(text, 0xed, 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(text, r)
}

func trimSpace(b []byte) []byte { return slices.Clip(bytes.Trim(b, " \t\r\n")) }

func isNull(value []byte) bool   { return value[0] == 'n' }
func isString(value []byte) bool { return value[0] == '"' }
func isObject(value []byte) bool { return value[0] == '{' }
func isArray(value []byte) bool  { return value[0] == '[' }

// isInteger reports whether a value is a number written without a fraction
// and without an exponent: 1.0 and 1e2 are not.
func isInteger(value []byte) bool {
	return (value[0] == '-' || '0' <= value[0] && value[0] <= '9') && !bytes.ContainsAny(value, ".eE")
}
