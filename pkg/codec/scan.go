package codec

import (
	"errors"
	"io"
	"strconv"
	"unicode/utf8"
)

// scanner reads JSON: the containers that it enters member by member or element
// by element, everything else in one step. It keeps no copy of what it reads;
// the views it hands out are of the bytes given to scan. Once it has failed, it
// reads nothing more.
type scanner struct {
	src   []byte
	at    int  // what was read last ends here
	depth int  // containers entered and not left
	first bool // nothing was read of the one entered last

	name, value []byte // the member that next read, name unescaped
	nameAt      int    // where in src the name begins, as it is spelled
	valueAt     int
	twice       []byte // the first name of which take was given a second value
	err         error  // a *SyntaxError: why reading stopped early
}

// scan begins to read b.
func scan(b []byte) scanner { return scanner{src: b} }

// peek skips space and returns the byte after it, 0 at the end.
func (s *scanner) peek() byte {
	if s.at = spaceEnd(s.src, s.at); s.at < len(s.src) {
		return s.src[s.at]
	}
	return 0
}

// enter reads a brace or bracket, if that comes next.
func (s *scanner) enter(opening byte) bool {
	if s.peek() != opening || s.err != nil {
		return false
	}
	s.at++
	s.depth++
	s.first = true
	return true
}

// more reads the comma before a member or an element of the container entered,
// or its end: then it returns false, as on failure.
func (s *scanner) more(closing byte) bool {
	if s.err != nil {
		return false
	}
	switch c := s.peek(); {
	case c == closing:
		s.at++
		s.depth--
		s.first = false
		return false
	case s.first:
		s.first = false
		return true
	case c == ',':
		s.at++
		return true
	case closing == '}':
		s.fail(faultMember)
	default:
		s.fail(faultElement)
	}
	return false
}

// read reads the next value whole.
func (s *scanner) read() bool {
	s.peek()
	s.valueAt = s.at
	if s.err != nil || !s.step(valueEnd(s.src, s.at, s.depth)) {
		return false
	}
	s.value = s.src[s.valueAt:s.at:s.at]
	return true
}

// step goes to where something that was read ends.
func (s *scanner) step(end int, bad fault) bool {
	s.at = end
	if bad != 0 {
		s.fail(bad)
	}
	return bad == 0
}

// next reads a member into name and value. It returns false at the end of the
// object, which it reads too, and on failure.
func (s *scanner) next() bool { return s.nextName() && s.read() }

// nextName is next for a caller who reads the value by itself.
func (s *scanner) nextName() bool {
	if !s.more('}') {
		return false
	}
	if s.peek() != '"' {
		return s.step(s.at, faultName)
	}
	s.nameAt = s.at
	if !s.step(stringEnd(s.src, s.at+1)) {
		return false
	}
	s.name = unquote(s.src[s.nameAt:s.at])
	if s.peek() != ':' {
		return s.step(s.at, faultColon)
	}
	s.at++
	return true
}

// object begins to read a value that must be an object. If it is JSON of
// another type, that is read to its end and the failure is a shapeError.
func (s *scanner) object(what string) error {
	if s.enter('{') {
		return nil
	}
	s.read()
	if err := s.end(); err != nil {
		return err
	}
	return shapeError(what + " must be an object")
}

// end returns why reading stopped early, or that something but space follows.
func (s *scanner) end() error {
	if s.peek(); s.err == nil && s.at < len(s.src) {
		s.fail(faultTrailing)
	}
	return s.err
}

// take stores the value of a member that must not be duplicate.
func (s *scanner) take(member *[]byte) {
	if *member != nil && s.twice == nil {
		s.twice = s.name
	}
	*member = s.value
}

// finish returns why reading stopped early, or else what is wrong with the
// value as a whole.
func (s *scanner) finish(what string) error {
	if err := s.end(); err != nil {
		return err
	}
	if s.twice != nil {
		return duplicate(what, string(s.twice))
	}
	return nil
}

var (
	errInvalidUTF8 = errors.New("invalid UTF-8")
	errTrailing    = errors.New("bytes after the value")
	errDepth       = errors.New("nested more than " + strconv.Itoa(maxDepth) + " deep")
)

// where says what is wrong with a character, by its fault.
var where = [...]string{
	faultControl: "in string, where control characters are escaped",
	faultEscape:  "in escape sequence",
	faultDigit:   "in number (expecting a digit)",
	faultLiteral: "in literal (expecting true, false or null)",
	faultValue:   "at start of value",
	faultName:    `at start of name (expecting '"')`,
	faultColon:   "after name (expecting ':')",
	faultMember:  "after member (expecting ',' or '}')",
	faultElement: "after element (expecting ',' or ']')",
}

// fail notes that what follows is at fault.
func (s *scanner) fail(bad fault) {
	failure := &SyntaxError{Offset: int64(s.at)}
	s.err = failure
	switch r, n := utf8.DecodeRune(s.src[s.at:]); {
	case bad == faultEnd || n == 0:
		failure.Err = io.ErrUnexpectedEOF
	case bad == faultUTF8 || r == utf8.RuneError && n == 1:
		failure.Err = errInvalidUTF8
	case bad == faultTrailing:
		failure.Err = errTrailing
	case bad == faultDepth:
		failure.Err = errDepth
	default:
		failure.Err = errors.New("invalid character " + strconv.QuoteRune(r) + " " + where[bad])
	}
}
