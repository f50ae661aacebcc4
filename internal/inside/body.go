package inside

import (
	"io"
	"time"

	"github.com/diverge-network/gateway/internal/limit"
	"github.com/diverge-network/gateway/pkg/codec"
)

const (
	// firstRoom is what a body is given to begin with, whatever length it
	// declares: it costs memory as its bytes arrive, and twice those at most.
	firstRoom = 4 << 10
	// smallBody is the longest body that is read and dropped behind a refusal:
	// that is cheaper than the connection, which is lost otherwise.
	smallBody = 8 << 10
)

// readBody reads the request's body, of at most that many bytes. One that declares
// more is not read at all.
func (x *exchange) readBody(most int) (refused Reason, cause string) {
	c, length := x.client, x.request.Header.ContentLength()
	if length > most {
		return ReasonTooBig, ""
	}
	if length == 0 || length == noBody {
		return "", ""
	}
	if x.request.MayContinue() {
		// Where this fails, so does the read.
		_, _ = io.WriteString(c.conn, "HTTP/1.1 100 Continue\r\n\r\n")
	}
	switch err := x.receive(length, most); {
	case err == errTooLong:
		return ReasonTooBig, ""
	case err != nil:
		if full := fullOf(err); full != nil {
			// Now: the connection may go on for a while, to be read to its end.
			x.body.Release()
			x.full, x.body = full, nil
			return Reason(full.Name), ""
		}
		x.spoilt = true
		return c.broken(err.Error())
	}
	x.read = true
	c.releaseReader() // the answer may take long
	return "", ""
}

// receive reads a body of that length, or of chunks until they are over most.
func (x *exchange) receive(length, most int) error {
	pace := x.client.handler.pace
	in := x.client.takeReader(time.Now().Add(pace.body), pace.step)
	if length != chunked {
		return x.fill(in, length)
	}
	if err := x.fill(&chunks{in: in, limit: most}, most+1); err != io.EOF {
		return err
	}
	return nil
}

// fill reads most bytes into x.body; it returns io.EOF if src ends before.
func (x *exchange) fill(src io.Reader, most int) error {
	x.body = codec.GetBuffer(min(most, firstRoom))
	for len(x.body.B) < most {
		if len(x.body.B) == cap(x.body.B) {
			if full := x.grow(); full != nil {
				return full
			}
		}
		n, err := src.Read(x.body.B[len(x.body.B):min(most, cap(x.body.B))])
		x.body.B = x.body.B[:len(x.body.B)+n]
		if err != nil {
			return err
		}
	}
	return nil
}

// grow moves the body to a buffer of twice the room, which counts for its container
// from now on. If there is no room for that, the body stays as it is.
func (x *exchange) grow() *limit.Full {
	room := codec.GetBuffer(2 * cap(x.body.B))
	room.Inherit(x.body)
	if full := x.client.handler.charge(x.posting.container, room); full != nil {
		x.body.Inherit(room)
		room.Release()
		return full
	}
	room.B = append(room.B, x.body.B...)
	x.body.Release()
	x.body = room
	return nil
}

// text is the body that was read, borrowed from the exchange.
func (x *exchange) text() []byte {
	if x.body == nil {
		return nil
	}
	return x.body.B
}

// discard reads over the body of a request that was answered without it.
func (x *exchange) discard(length int) bool {
	in := x.client.takeReader(time.Now().Add(x.client.handler.pace.head), 0)
	n, err := in.Discard(length)
	return err == nil && n == length
}
