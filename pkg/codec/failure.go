package codec

import (
	"errors"
	"strconv"
)

// ErrTruncated is the failure of an ask frame shorter than its header of
// AskHeaderSize bytes (protocol D4).
var ErrTruncated = errors.New("ask frame is truncated: it is shorter than 5 bytes")

// ErrEmpty is the failure of an answer frame without any bytes, so without a
// tag (protocol D1).
var ErrEmpty = errors.New("answer frame is empty: it has no tag")

// UnknownKindError is the failure of an ask of a kind that is not served
// (protocol D4).
type UnknownKindError struct{ Kind Kind }

func (e *UnknownKindError) Error() string {
	return "unknown kind " + strconv.Itoa(int(e.Kind)) + ": kinds 0 to " + strconv.Itoa(KindCount-1) + " are served"
}

// UnknownTagError is the failure of an answer frame whose first byte is
// neither TagResult nor TagError (protocol D1).
type UnknownTagError struct{ Tag Tag }

func (e *UnknownTagError) Error() string {
	return "unknown answer frame tag " + strconv.Itoa(int(e.Tag)) + ": it must be 0 or 1"
}

// BodyError is the failure of an answer frame whose bytes after the tag do
// not parse (protocol D1, D2). Err is the cause; a *SyntaxError if they are
// not JSON.
type BodyError struct{ Err error }

func (e *BodyError) Error() string { return "answer frame does not parse: " + e.Err.Error() }
func (e *BodyError) Unwrap() error { return e.Err }

// SyntaxError says that bytes are not one JSON value, strictly (protocol D2).
// In JSON-RPC it is the parse error, -32700.
type SyntaxError struct {
	Offset int64 // in bytes, of the place where it was noticed
	Err    error
}

func (e *SyntaxError) Error() string {
	return "not JSON: " + e.Err.Error() + " at byte " + strconv.FormatInt(e.Offset, 10)
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// InvalidError says that bytes are JSON but no JSON-RPC message. In JSON-RPC
// it is the invalid request, -32600.
type InvalidError struct {
	ID     []byte // raw JSON, borrowed; nil unless there is exactly one valid id
	Reason string // in words, for the error's message
	Batch  bool   // the bytes are a JSON array
}

func (e *InvalidError) Error() string { return "invalid message: " + e.Reason }

// ParamsError says that a request's params do not make an ask. In JSON-RPC it
// is -32602.
type ParamsError struct {
	Kind   Kind
	Reason string
}

func (e *ParamsError) Error() string { return e.Kind.Method() + ": " + e.Reason }

// EncodeError says that a Go value has no encoding (protocol D5).
type EncodeError struct{ Err error }

func (e *EncodeError) Error() string { return "answer cannot be encoded: " + e.Err.Error() }
func (e *EncodeError) Unwrap() error { return e.Err }

// shapeError is a cause of BodyError: the bytes are JSON, but not the JSON
// that protocol D2 asks for at their place.
type shapeError string

func (e shapeError) Error() string { return string(e) }

func duplicate(where, name string) error {
	const longest = 64 // of what a peer wrote, in an error
	if len(name) > longest {
		name = name[:longest]
	}
	return shapeError(where + " has more than one member named " + strconv.Quote(name))
}
