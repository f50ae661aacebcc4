package inside

import "github.com/diverge-network/gateway/pkg/codec"

// envelope is about what a JSON-RPC response has besides its id and its result
// or error.
const envelope = 64

// resultResponse is a response with a result, raw JSON.
func resultResponse(id, result []byte) *codec.Buffer {
	out := codec.GetBuffer(envelope + len(id) + len(result))
	out.B = codec.AppendResponse(out.B, id, result)
	return out
}

// failure is a response with an error of our own.
func failure(id []byte, code int32, message string) *codec.Buffer {
	e := codec.Error{Code: code, Message: message}
	return errorResponse(id, e.Append(nil))
}

// errorResponse is a response with an error object, raw JSON.
func errorResponse(id, object []byte) *codec.Buffer {
	out := codec.GetBuffer(envelope + len(id) + len(object))
	out.B = codec.AppendErrorResponse(out.B, id, object)
	return out
}
