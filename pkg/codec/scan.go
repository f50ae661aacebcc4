package codec

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner reads one JSON value: an object member by member, everything else
// in one step. It keeps no copy of what it reads; the views it hands out are
// of the bytes given to scan.
type scanner struct {
	src []byte
	buf bytes.Buffer // over src; jsontext reads a bytes.Buffer in place
	dec jsontext.Decoder

	name, value []byte   // the member that next read, name unescaped
	nameAt      int      // where in src the name begins, as it is spelled
	twice       []byte   // the first name of which take was given a second value
	err         error    // why next stopped early
	names       [][]byte // those kept for duplicateName
	envelope    envelope // what readEnvelope found; here, to keep the callers' stacks small
}

var scanners = sync.Pool{New: func() any { return new(scanner) }}

// jsontext rejects escaped lone surrogates ("\ud800"), which RFC 8259 allows
// and a relay must not lose, unless invalid UTF-8 is allowed too. So it is,
// and scan checks UTF-8 itself: outside strings JSON is ASCII, hence bytes are
// valid UTF-8 exactly where their strings are.
//
// Duplicate names are for the reader of the members concerned to refuse.
var decodeOptions = []jsontext.Options{
	jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true),
}

var errInvalidUTF8 = errors.New("invalid UTF-8")

// scan begins to read b. The scanner must be released.
func scan(b []byte) (*scanner, error) {
	if !utf8.Valid(b) {
		return nil, &SyntaxError{Offset: invalidUTF8At(b), Err: errInvalidUTF8}
	}
	s := scanners.Get().(*scanner)
	s.src = b
	s.buf = *bytes.NewBuffer(b)
	s.dec.Reset(&s.buf, decodeOptions...)
	return s, nil
}

func invalidUTF8At(b []byte) int64 {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return int64(i)
		}
		i += n
	}
	return int64(len(b))
}

const namesKept = 64

// release returns s to the pool, without the bytes it read.
func (s *scanner) release() {
	s.buf = bytes.Buffer{}
	s.dec.Reset(&s.buf)
	s.src, s.name, s.value, s.twice, s.err = nil, nil, nil, nil, nil
	s.envelope = envelope{}
	if cap(s.names) > namesKept {
		s.names = nil
	}
	clear(s.names)
	s.names = s.names[:0]
	scanners.Put(s)
}

// failure turns an error of the decoder into a *SyntaxError.
func (s *scanner) failure(err error) error {
	if err == io.EOF {
		return &SyntaxError{Offset: int64(len(s.src)), Err: io.ErrUnexpectedEOF}
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &SyntaxError{Offset: syntactic.ByteOffset, Err: syntactic.Err}
	}
	return &SyntaxError{Offset: s.dec.InputOffset(), Err: err}
}

// peek returns the first byte of what follows ('0' for every number), or 0 if
// nothing valid does: then the next read says why.
func (s *scanner) peek() byte { return byte(s.dec.PeekKind()) }

// bracket reads the '{' or '}' that peek saw.
func (s *scanner) bracket() error {
	if _, err := s.dec.ReadToken(); err != nil {
		return s.failure(err)
	}
	return nil
}

// read reads the next value whole.
func (s *scanner) read() ([]byte, error) {
	v, err := s.dec.ReadValue()
	if err != nil {
		return nil, s.failure(err)
	}
	return v, nil
}

var errTrailing = errors.New("bytes after the value")

// end checks that nothing but space follows.
func (s *scanner) end() error {
	_, err := s.dec.ReadToken()
	switch {
	case err == io.EOF:
		return nil
	case err == nil:
		return &SyntaxError{Offset: s.dec.InputOffset(), Err: errTrailing}
	}
	return s.failure(err)
}

// object begins to read a value that must be an object. If it is JSON of
// another type, that is read to its end and the failure is a shapeError.
func (s *scanner) object(what string) error {
	if s.peek() == '{' {
		return s.bracket()
	}
	if _, err := s.read(); err != nil {
		return err
	}
	if err := s.end(); err != nil {
		return err
	}
	return shapeError(what + " must be an object")
}

// next reads a member into name and value. It returns false at the end of the
// object, which it reads too, and on failure, which is then in err.
func (s *scanner) next() bool {
	if !s.nextName() {
		return false
	}
	s.value, s.err = s.read()
	return s.err == nil
}

// nextName is next for a caller who reads the value by itself.
func (s *scanner) nextName() bool {
	if s.peek() == '}' {
		s.err = s.bracket()
		return false
	}
	var quoted []byte
	if quoted, s.err = s.read(); s.err != nil {
		return false
	}
	s.nameAt = s.offset() - len(quoted)
	s.name = unquote(quoted)
	return true
}

// offset returns where in src what was read last ends.
func (s *scanner) offset() int { return int(s.dec.InputOffset()) }

// take stores the value of a member that must not be duplicate.
func (s *scanner) take(member *[]byte) {
	if *member != nil && s.twice == nil {
		s.twice = s.name
	}
	*member = s.value
}

// finish returns why next stopped early, or else what is wrong with the value
// as a whole.
func (s *scanner) finish(what string) error {
	if s.err != nil {
		return s.err
	}
	if err := s.end(); err != nil {
		return err
	}
	if s.twice != nil {
		return duplicate(what, string(s.twice))
	}
	return nil
}

// keep remembers a name of an envelope for duplicateName.
func (s *scanner) keep(name []byte) { s.names = append(s.names, name) }

// duplicateName returns one of the names kept that is there twice, or nil. It
// sorts, so that an envelope of very many members costs no more than its
// length deserves.
func (s *scanner) duplicateName() []byte {
	slices.SortFunc(s.names, bytes.Compare)
	for i := 1; i < len(s.names); i++ {
		if bytes.Equal(s.names[i-1], s.names[i]) {
			return s.names[i]
		}
	}
	return nil
}
