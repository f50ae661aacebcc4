//go:build linux

package load

import (
	"bytes"
	"sync/atomic"
)

// stamp is what is known of the time of one caller's exchange: when the client began to send it, when the kernel had the
// announcement, when the server began to send its answer, and when the kernel had the response. The gateway has the exchange
// from the first to the second, and from the third to the fourth.
type stamp struct {
	asked     int64        // set by the caller
	announced atomic.Int64 // set by the server, which may be on another thread
	answered  atomic.Int64
}

func (s *stamp) inside(replied int64) int64 {
	return s.announced.Load() - s.asked + replied - s.answered.Load()
}

// Stamps are those of all callers of a crew, by the number that each puts into its calls.
type Stamps []stamp

// StampMark precedes the caller's number, of digits, in the params of a call that is stamped.
const StampMark = `"caller":`

// of is the stamp that a call's params name, or nil.
func (s Stamps) of(params []byte) *stamp {
	at := bytes.Index(params, []byte(StampMark))
	if at < 0 {
		return nil
	}
	n := 0
	for _, c := range params[at+len(StampMark):] {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	if n >= len(s) {
		return nil
	}
	return &s[n]
}
