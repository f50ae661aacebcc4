package toolheader

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// reader reads JSON in one pass, and keeps no copy of it. Its views are of the
// bytes that it was given.
type reader struct {
	src []byte
	buf bytes.Buffer // over src; jsontext reads a bytes.Buffer in place
	dec jsontext.Decoder

	name []byte // of the member that member read, until it reads the next
	text []byte // where name is, if it is spelled with escapes
}

// Escaped lone surrogates, which JSON may have, count as invalid UTF-8.
var (
	lenient = []jsontext.Options{jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)}
	strict  = []jsontext.Options{jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(false)}
)

func (r *reader) reset(src []byte, options []jsontext.Options) {
	r.src = src
	r.buf = *bytes.NewBuffer(src)
	r.dec.Reset(&r.buf, options...)
}

// kind is the first byte of what comes next, '0' for any number; 0 if that is no
// JSON: then what reads it says why.
func (r *reader) kind() byte { return byte(r.dec.PeekKind()) }

// enter reads a brace or bracket, if that comes next, and otherwise skips what does.
func (r *reader) enter(opening byte) (entered bool, err error) {
	if r.kind() != opening {
		return false, r.dec.SkipValue()
	}
	_, err = r.dec.ReadToken()
	return err == nil, err
}

// member reads the name of the next member of an object, or the object's end.
func (r *reader) member() (more bool, err error) {
	if more, err = r.more('}'); !more {
		return false, err
	}
	quoted, err := r.value()
	if err != nil {
		return false, err
	}
	r.name = textOf(&r.text, quoted)
	return true, nil
}

// more reports whether something comes before an object's or array's end, which
// it reads otherwise.
func (r *reader) more(closing byte) (bool, error) {
	if r.kind() != closing {
		return true, nil
	}
	_, err := r.dec.ReadToken()
	return false, err
}

// value reads a value whole.
func (r *reader) value() ([]byte, error) {
	v, err := r.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(r.dec.InputOffset())
	return r.src[end-len(v) : end : end], nil
}

var errTrailing = errors.New("there is more behind the value")

// end checks that nothing but space follows.
func (r *reader) end() error {
	switch _, err := r.dec.ReadToken(); err {
	case io.EOF:
		return nil
	case nil:
		return errTrailing
	default:
		return err
	}
}

// textOf is what a JSON string says: a view of it, or of scratch where it is
// spelled with escapes. A lone surrogate becomes U+FFFD.
func textOf(scratch *[]byte, quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	*scratch, _ = jsontext.AppendUnquote((*scratch)[:0], quoted) // it was read: only surrogates can be wrong with it
	return *scratch
}

func isString(raw []byte) bool { return len(raw) > 1 && raw[0] == '"' }

// absent also takes null for absence.
func absent(raw []byte) bool { return len(raw) == 0 || raw[0] == 'n' }
