package codec

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// This file is the grammar of JSON (protocol D2): each function returns where
// what begins at b[i] ends, or where it is at fault and why. Strings are read
// eight bytes at a time.

// fault is why bytes are not JSON; none is 0.
type fault uint8

const (
	faultEnd fault = iota + 1 // the bytes end too early
	faultUTF8
	faultControl
	faultEscape
	faultDigit
	faultLiteral
	faultValue
	faultName
	faultColon
	faultMember
	faultElement
	faultDepth
	faultTrailing
)

const (
	each = 0x0101010101010101 // times a byte: that byte in all eight
	tops = 0x80 * each
)

// special marks, by its top bit, the first of eight bytes that ends a stretch
// of plain text, and perhaps some behind it: a quote, a backslash, a control
// character, or what is not ASCII. Xor 2 makes of the quote the byte ahead of
// all that may stand in a string.
func special(x uint64) uint64 {
	return (((x ^ 2*each) - ('"'^2+1)*each) | ((x ^ '\\'*each) - each) | x) & tops
}

// stringEnd reads a string; its opening quote is before b[i].
func stringEnd(b []byte, i int) (end int, bad fault) {
words:
	for n := 0; i+8 <= len(b); n++ {
		if at := special(binary.LittleEndian.Uint64(b[i:])); at != 0 {
			i += bits.TrailingZeros64(at) / 8
			goto found
		}
		if i += 8; n == 3 {
			i = plainEnd(b, i)
		}
	}
	for i < len(b) && plain[b[i]] {
		i++
	}
	if i >= len(b) {
		return len(b), faultEnd
	}
found:
	switch c := b[i]; {
	case c == '"':
		return i + 1, 0
	case c == '\\' && i+1 < len(b) && escaping[b[i+1]]:
		i += 2
		for n := i + 8; i < len(b) && i < n; i++ {
			if !plain[b[i]] {
				goto found
			}
		}
	case c == '\\':
		if i, bad = escapeEnd(b, i); bad != 0 {
			return i, bad
		}
	case c >= utf8.RuneSelf:
		if i, bad = runesEnd(b, i); bad != 0 {
			return i, bad
		}
	default:
		return i, faultControl
	}
	goto words
}

// plain has what may stand in a string as it is, and is ASCII.
var plain = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = ' ' <= c && c < utf8.RuneSelf && c != '"' && c != '\\'
	}
	return plain
}()

// plainEnd reads whole stretches of plain text.
func plainEnd(b []byte, i int) int {
	for ; i+32 <= len(b); i += 32 {
		p := (*[32]byte)(b[i:])
		v, w := binary.LittleEndian.Uint64(p[0:]), binary.LittleEndian.Uint64(p[8:])
		x, y := binary.LittleEndian.Uint64(p[16:]), binary.LittleEndian.Uint64(p[24:])
		if special(v)|special(w)|special(x)|special(y) != 0 {
			break
		}
	}
	return i
}

// escapeEnd reads an escape that is none of escaping; its backslash is b[i].
func escapeEnd(b []byte, i int) (end int, bad fault) {
	switch {
	case i+1 == len(b):
		return len(b), faultEnd
	case b[i+1] != 'u':
		return i + 1, faultEscape
	}
	for at := i + 2; at < i+6; at++ {
		if at >= len(b) {
			return at, faultEnd
		}
		if c := b[at]; (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return at, faultEscape
		}
	}
	return i + 6, 0
}

// escaping has what stands behind a backslash for itself alone.
var escaping = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// runesEnd reads the runes that are not ASCII from b[i] on.
func runesEnd(b []byte, i int) (end int, bad fault) {
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		switch {
		case x&0x80 == 0:
			return i, 0
		case x&0xc0c0f0 == 0x8080e0: // three bytes, and neither too long a form nor a surrogate
			if v := x & 0x200f; v == 0 || v == 0x200d {
				return i, faultUTF8
			}
			i += 3
		case x&0xc0e0 == 0x80c0: // two bytes
			if x&0x1e == 0 {
				return i, faultUTF8
			}
			i += 2
		case x&0xc0c0c0f8 == 0x808080f0: // four bytes, up to U+10FFFF
			if v := x & 0x3007; v&7 == 0 && v == 0 || v&7 == 4 && v != 4 || v&7 > 4 {
				return i, faultUTF8
			}
			i += 4
		default:
			return i, faultUTF8
		}
	}
	for i < len(b) && b[i] >= utf8.RuneSelf {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i, faultUTF8
		}
		i += n
	}
	return i, 0
}

// numberEnd reads a number, or finds that there is none.
func numberEnd(b []byte, i int) (end int, bad fault) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	default:
		if i, bad = digitsEnd(b, i); bad != 0 {
			return i, bad
		}
	}
	if i < len(b) && b[i] == '.' {
		if i, bad = digitsEnd(b, i+1); bad != 0 {
			return i, bad
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digitsEnd(b, i)
	}
	return i, 0
}

// digitsEnd reads one or more digits.
func digitsEnd(b []byte, i int) (end int, bad fault) {
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	switch {
	case i > start:
		return i, 0
	case i >= len(b):
		return i, faultEnd
	}
	return i, faultDigit
}

// literalEnd reads true, false or null.
func literalEnd(b []byte, i int, literal string) (end int, bad fault) {
	for n := range len(literal) {
		switch {
		case i+n >= len(b):
			return i + n, faultEnd
		case b[i+n] != literal[n]:
			return i + n, faultLiteral
		}
	}
	return i + len(literal), 0
}

// spaceEnd reads space, if there is any.
func spaceEnd(b []byte, i int) int {
	for ; i < len(b); i++ {
		switch b[i] {
		case ' ', '\n', '\r', '\t':
		default:
			return i
		}
	}
	return i
}
