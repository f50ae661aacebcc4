package sock

import (
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// longAgo is a deadline that every connection takes for passed.
var longAgo = time.Unix(1, 0)

// Early takes over a connection that fasthttp hijacked (with KeepHijackedConns
// set): it returns the connection underneath and the bytes that the peer had
// sent early, which sat in fasthttp's reader; nil if there were none. It waits
// for nothing. After an error the connection is of no use; the caller closes it.
//
// It is called in the hijack handler, before anything else reads. A connection
// that is nobody's wrapper is returned as it is.
func Early(hijacked net.Conn) (raw net.Conn, early []byte, err error) {
	raw = hijacked
	if wrapper, ok := hijacked.(interface{ UnsafeConn() net.Conn }); ok {
		raw = wrapper.UnsafeConn()
	}
	if err := raw.SetReadDeadline(longAgo); err != nil {
		return raw, nil, err
	}
	early, err = drain(hijacked)
	if err != nil {
		return raw, early, err
	}
	return raw, early, raw.SetReadDeadline(time.Time{})
}

// drain reads what needs no waiting. An end is not its affair: whoever reads the
// connection next sees it too.
func drain(r io.Reader) (early []byte, err error) {
	chunk := TakeChunk()
	defer chunk.Release()
	for {
		n, err := r.Read(chunk.room[:])
		early = append(early, chunk.room[:n]...)
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, io.EOF):
			return early, nil
		default:
			return early, err
		}
	}
}
