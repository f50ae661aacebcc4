package codec

import (
	"bytes"
	"encoding/json"
	"errors"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Tag is the first byte of an answer frame (protocol A3, N3).
type Tag uint8

// The tags there are.
const (
	TagResult Tag = 0 // a result follows; on a notifications path, a notification
	TagError  Tag = 1 // a JSON-RPC error object follows
)

// Answer is a decoded answer frame. Body is the JSON after the tag, byte for
// byte, borrowed from the frame.
type Answer struct {
	Tag  Tag
	Body []byte

	shape shape // of a result
}

// DecodeAnswer decodes the answer frame of an ask of kind k: the tag, then
// JSON that is checked strictly and as deep as a relay depends on it (protocol
// A3, D2). It fails with ErrEmpty, an *UnknownTagError or a *BodyError
// (protocol D1), or with an *UnknownKindError if k is not Known.
//
// A result is an object; unless its resultType is a string other than
// "complete" it holds the array of its kind (for CallTool, structuredContent
// of any type does as well). An error is an object with a string message and a
// code that is a 32-bit integer, written without a fraction or an exponent.
// The members named here must not be duplicate. A resultType of null counts
// as absent.
func DecodeAnswer(k Kind, frame []byte) (Answer, error) {
	if !k.Known() {
		return Answer{}, &UnknownKindError{k}
	}
	if len(frame) == 0 {
		return Answer{}, ErrEmpty
	}
	a := Answer{Tag: Tag(frame[0]), Body: frame[1:len(frame):len(frame)]}
	var err error
	switch {
	case a.Tag == TagError:
		_, err = scanError(a.Body)
	case a.Tag != TagResult:
		return Answer{}, &UnknownTagError{a.Tag}
	case k.Many():
		_, err = ParseNotification(a.Body)
	default:
		err = a.shape.check(k, a.Body)
	}
	if err != nil {
		return Answer{}, &BodyError{err}
	}
	return a, nil
}

func (r *shape) check(k Kind, body []byte) error {
	row := &kinds[k]
	array, err := r.read(body, row.array)
	if err == nil {
		err = r.unique(k.once())
	}
	switch {
	case err != nil:
		return err
	case !r.complete:
		return nil
	case array != nil && isArray(array), row.or != "" && r.members[memberStructured].from > 0:
		return nil
	case array != nil:
		return shapeError(row.array + " must be an array")
	case row.or != "":
		return shapeError("result has no " + row.array + " and no " + row.or)
	}
	return shapeError("result has no " + row.array)
}

// AppendResult appends an answer frame that carries a result, ready-made JSON
// (protocol A3, D5).
func AppendResult(dst, result []byte) []byte {
	return append(append(dst, byte(TagResult)), result...)
}

// AppendError appends an answer frame that carries an error object, ready-made
// JSON (protocol A3, D5).
func AppendError(dst, errorObject []byte) []byte {
	return append(append(dst, byte(TagError)), errorObject...)
}

// AppendValue appends an answer frame whose body is the encoding of v, which
// must be a JSON object. v is encoded as by encoding/json, but without
// escaping for HTML, and text that is not valid UTF-8 is a failure instead of
// being replaced. On failure it returns dst as it was and an *EncodeError
// (protocol D5).
func AppendValue(dst []byte, tag Tag, v any) ([]byte, error) {
	if tag != TagResult && tag != TagError {
		return dst, &EncodeError{&UnknownTagError{tag}}
	}
	frame := appender{append(dst, byte(tag))}
	enc := json.NewEncoder(&frame)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, &EncodeError{err}
	}
	frame.b = frame.b[:len(frame.b)-1] // Encode ends with a newline
	body := frame.b[len(dst)+1:]
	if !isObject(body) {
		return dst, &EncodeError{errNotObject}
	}
	if err := checkEncoded(body, v); err != nil {
		return dst, &EncodeError{err}
	}
	return frame.b, nil
}

type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

var errNotObject = errors.New("it must be a JSON object")

// checkEncoded finds the invalid UTF-8 that encoding/json lets through: it
// copies what is in raw messages, and puts an escaped U+FFFD for what is in Go
// strings. A raw message may spell that too. So where it appears, v is encoded
// once more by an encoder that is the same but for putting U+FFFD itself.
func checkEncoded(body []byte, v any) error {
	if err := CheckJSON(body); err != nil {
		return err
	}
	replacement := []byte(`\ufffd`)
	n := bytes.Count(body, replacement)
	if n == 0 {
		return nil
	}
	again, err := jsonv2.Marshal(v, jsonv1.DefaultOptionsV1())
	if err == nil && bytes.Count(again, replacement) != n {
		err = errInvalidUTF8
	}
	return err
}
