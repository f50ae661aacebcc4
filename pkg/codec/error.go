package codec

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Error is a JSON-RPC error object, and a Go error.
type Error struct {
	Code    int32
	Message string
	Data    []byte // raw JSON; nil if there is none
}

func (e *Error) Error() string {
	return e.Message + " (" + strconv.Itoa(int(e.Code)) + ")"
}

// Append appends e as a JSON object. Bytes of the message that are not valid
// UTF-8 become U+FFFD.
func (e *Error) Append(dst []byte) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst, _ = jsontext.AppendQuote(dst, e.Message) // fails only after replacing
	if e.Data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, '}')
}

// MarshalJSON makes e encode as Append does.
func (e *Error) MarshalJSON() ([]byte, error) { return e.Append(nil), nil }

// ParseError parses an error object, such as the body of an answer with
// TagError. Data is borrowed; the members of an error object that Error does
// not have are not in it. It fails as DecodeAnswer does, but with the cause
// alone.
func ParseError(body []byte) (Error, error) {
	raw, err := scanError(body)
	if err != nil {
		return Error{}, err
	}
	message := strings.ToValidUTF8(string(unquote(raw.message)), "\ufffd")
	return Error{Code: raw.code, Message: message, Data: raw.data}, nil
}

type rawError struct {
	code            int32
	codeAt, codeEnd int // where the code is
	message, data   []byte
}

func scanError(body []byte) (raw rawError, err error) {
	s := scan(body)
	if err := s.object("error"); err != nil {
		return raw, err
	}
	var code []byte
	for s.next() {
		switch string(s.name) {
		case "code":
			s.take(&code)
			raw.codeEnd = s.at
			raw.codeAt = s.valueAt
		case "message":
			s.take(&raw.message)
		case "data":
			s.take(&raw.data)
		}
	}
	if err := s.finish("error"); err != nil {
		return raw, err
	}
	switch {
	case code == nil:
		return raw, shapeError("error has no code")
	case !isInteger(code):
		return raw, shapeError("code must be an integer")
	case raw.message == nil:
		return raw, shapeError("error has no message")
	case !isString(raw.message):
		return raw, shapeError("message must be a string")
	}
	n, err := strconv.ParseInt(string(code), 10, 32)
	if err != nil {
		return raw, shapeError("code must fit 32 bits")
	}
	raw.code = int32(n)
	return raw, nil
}
