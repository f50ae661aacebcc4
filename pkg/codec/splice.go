package codec

// The splices put JSON they are given into an envelope, byte for byte and
// without looking at it: it was checked when it came in.

// AppendResponse appends the JSON-RPC response with the given id and result,
// both raw JSON.
func AppendResponse(dst, id, result []byte) []byte {
	return append(append(appendResponseHead(dst, id), result...), '}')
}

// appendResponseHead appends what is before the result.
func appendResponseHead(dst, id []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	return append(dst, `,"result":`...)
}

// AppendErrorResponse appends the JSON-RPC response with the given id and
// error object, both raw JSON. A nil id, for a request that has no valid one,
// leaves the member out.
func AppendErrorResponse(dst, id, errorObject []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if id != nil {
		dst = append(dst, `"id":`...)
		dst = append(dst, id...)
		dst = append(dst, ',')
	}
	dst = append(dst, `"error":`...)
	dst = append(dst, errorObject...)
	return append(dst, '}')
}

// AppendNotificationEnvelope appends n, which ParseNotification or
// DecodeNotification returned, as a JSON-RPC message: all its members, behind
// a jsonrpc member unless it is Versioned.
func AppendNotificationEnvelope(dst []byte, n Notification) []byte {
	if n.Versioned {
		return append(dst, n.Raw...)
	}
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	return append(dst, n.Raw[len("{"):]...)
}
