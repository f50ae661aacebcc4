package sock

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// maxRecord is the most plain text that one TLS record carries.
const maxRecord = 16 << 10

// overTLS speaks TLS by crypto/tls and keeps this package's promises: no buffer of
// ours while it waits, and nothing that waits in TryWrite. (What crypto/tls itself
// holds is as large as the largest record it has read.)
//
// A record that has been encrypted cannot be taken back. If the socket takes but a
// part of one, the rest stays in the wire, and the writer is told that one byte
// less was taken than the record has: so it must come back, with that byte first.
type overTLS struct {
	*tls.Conn
	wire wire
	owed bool        // by the writer: that byte. Written before anything else is.
	gone atomic.Bool // the peer has ended TLS, which the reader has seen
}

// ServeTLS speaks TLS over nc as the server, which nc must belong to from now on
// but to be closed, and returns once the handshake is done. The peer has that long
// for it; until it says something, it costs no more than nc. If ServeTLS fails the
// caller closes nc. The deadlines of nc are taken back.
//
// Where nc has none of this package's ways, neither has the Conn.
func ServeTLS(nc net.Conn, config *tls.Config, within time.Duration) (*Conn, error) {
	until := time.Now().Add(within)
	plain := Wrap(nc)
	if plain.raw == nil {
		over := tls.Server(nc, config)
		if err := shake(over, until); err != nil {
			return nil, err
		}
		return Wrap(over), nil
	}
	hello, _, err := plain.ReadIdleWithin(within)
	if err != nil {
		return nil, err
	}
	o := &overTLS{wire: wire{ahead: hello}}
	o.wire.Init(plain)
	o.Conn = tls.Server(&o.wire, config)
	if err := shake(o.Conn, until); err != nil {
		o.wire.leaveAhead()
		return nil, err
	}
	o.wire.shaken = true
	return Wrap(o), nil
}

func shake(over *tls.Conn, until time.Time) error {
	if err := over.SetDeadline(until); err != nil {
		return err
	}
	if err := over.Handshake(); err != nil {
		return err
	}
	return over.SetDeadline(time.Time{})
}

// Read implements net.Conn. Unlike that of crypto/tls, which may find the end right
// behind what it returns, it does not return bytes and an error: the error comes
// again.
func (o *overTLS) Read(p []byte) (int, error) {
	n, err := o.Conn.Read(p)
	if err == io.EOF {
		o.gone.Store(true)
	}
	if n > 0 {
		err = nil
	}
	return n, err
}

// secure is what c speaks TLS with, if it does by ServeTLS.
func (c *Conn) secure() *overTLS {
	o, _ := c.Conn.(*overTLS)
	return o
}

// readIdle is ReadIdle, or if d is not negative ReadIdleWithin.
func (o *overTLS) readIdle(d time.Duration) (chunk *Chunk, timed bool, err error) {
	for {
		chunk, err = o.decrypted()
		if err != errNothingYet {
			return chunk, timed, err
		}
		if timed || d < 0 {
			chunk, err = o.wire.ReadIdle()
		} else {
			chunk, timed, err = o.wire.ReadIdleWithin(d)
		}
		switch {
		case err == io.EOF: // is what TLS makes of it
			o.wire.ended = true
		case err != nil:
			return nil, timed, err
		}
		o.wire.ahead, o.wire.at = chunk, 0
	}
}

// decrypted returns what is here already, or errNothingYet.
func (o *overTLS) decrypted() (*Chunk, error) {
	chunk := TakeChunk()
	o.wire.idle = true
	n, err := o.Read(chunk.room[:])
	o.wire.idle = false
	if n > 0 {
		chunk.B = chunk.room[:n]
		return chunk, nil
	}
	chunk.Release()
	if errors.Is(err, errNothingYet) {
		if amid := o.wire.records.amid(); amid != o.wire.amid.Load() {
			o.wire.amid.Store(amid)
		}
		return nil, errNothingYet
	}
	return nil, err
}

// tryWrite writes record by record for as long as the socket has room.
func (o *overTLS) tryWrite(p []byte, last bool) (n int, err error) {
	if done, err := o.wire.tryFlush(); !done || err != nil || len(p) == 0 {
		return 0, err
	}
	n, p = o.pay(p)
	// Of a record of one byte nothing could be withheld.
	for len(p) > 1 {
		room, err := writable(o.wire.raw)
		if !room || err != nil {
			return n, err
		}
		piece := p[:min(len(p), maxRecord)]
		if len(p) == len(piece)+1 {
			piece = p[:len(piece)-1]
		}
		kept, err := o.encrypt(piece, last && len(piece) == len(p))
		switch {
		case err != nil:
			return n, err
		case kept:
			o.owed = true
			return n + len(piece) - 1, nil
		}
		n += len(piece)
		p = p[len(piece):]
	}
	return n, nil
}

// encrypt writes one record, and says whether some of it was kept back.
func (o *overTLS) encrypt(piece []byte, last bool) (kept bool, err error) {
	if last {
		o.wire.expectEnd()
	}
	if _, err := o.Conn.Write(piece); err != nil {
		return false, err
	}
	return o.wire.queued() > 0, nil
}

// pay takes the byte that is owed off p, which is not empty.
func (o *overTLS) pay(p []byte) (n int, rest []byte) {
	if !o.owed {
		return 0, p
	}
	o.owed = false
	return 1, p[1:]
}

// tryWrite2 puts head and body into one record if they are short.
func (o *overTLS) tryWrite2(head, body []byte) (int, error) {
	chunk := TakeChunk()
	defer chunk.Release()
	first := append(chunk.B, head...)
	some := min(len(body), max(ChunkSize-len(first), 0))
	first = append(first, body[:some]...)
	n, err := o.tryWrite(first, false)
	if err != nil || n < len(first) || some == len(body) {
		return n, err
	}
	m, err := o.tryWrite(body[some:], false)
	return n + m, err
}

// Write implements net.Conn. Unlike that of crypto/tls it can be gone on with
// after a deadline.
func (o *overTLS) Write(p []byte) (n int, err error) {
	if err := o.wire.flush(); err != nil || len(p) == 0 {
		return 0, err
	}
	n, p = o.pay(p)
	for len(p) > 0 {
		piece := p[:min(len(p), maxRecord)]
		if _, err := o.Conn.Write(piece); err != nil {
			return n, err
		}
		if err := o.wire.flush(); err != nil {
			o.owed = true
			return n + len(piece) - 1, err
		}
		n += len(piece)
		p = p[len(piece):]
	}
	return n, nil
}

// CloseWrite ends the writing half of TLS, and of TCP behind it.
func (o *overTLS) CloseWrite() error {
	return errors.Join(o.Conn.CloseWrite(), o.wire.CloseWrite())
}

// drained is Drained: a part of a record is not handled.
func (o *overTLS) drained() bool {
	// In this order: see Drained.
	return o.wire.Drained() && !o.wire.amid.Load()
}
