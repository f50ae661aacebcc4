package stream

import "time"

// Conn is what a stream writes to. The stream makes one call at a time of
// TryWrite, Write and SetWriteDeadline; Close may come beside any of them.
type Conn interface {
	// TryWrite writes what fits without waiting and returns how many bytes that
	// were: 0 and no error where nothing did. It must not keep p, which is one
	// message or several.
	TryWrite(p []byte) (int, error)
	// Write writes all of p, a piece of one message, waiting as long as the write deadline allows; then
	// it returns os.ErrDeadlineExceeded (perhaps wrapped) and how much went out.
	Write(p []byte) (int, error)
	// SetWriteDeadline bounds Write; the zero time means no bound.
	SetWriteDeadline(t time.Time) error
	// Close ends the connection and a Write that waits.
	Close() error
}
