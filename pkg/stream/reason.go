package stream

import "strconv"

// CloseReason says why a stream was closed. The set is closed: each has a
// counter.
type CloseReason uint8

const (
	// CloseLeft: the client went away.
	CloseLeft CloseReason = iota
	// CloseReplaced: a newer stream took its place.
	CloseReplaced
	// CloseEnded: what it belonged to has ended.
	CloseEnded
	// CloseShutdown: the process is stopping.
	CloseShutdown
	// CloseFull: there was no room for a message that may not be lost.
	CloseFull
	// CloseTooBig: a message that may not be lost was larger than Config.Bytes.
	CloseTooBig
	// CloseStalled: the connection took nothing for Config.Stall.
	CloseStalled
	// CloseFailed: a write failed, or panicked.
	CloseFailed
	// CloseToken: the token that it was opened with is no longer good.
	CloseToken

	// CloseReasonCount is how many reasons there are.
	CloseReasonCount = int(iota)
)

var closeReasons = [CloseReasonCount]string{
	"left", "replaced", "ended", "shutdown", "full", "too-big", "stalled", "failed", "token",
}

// String is the reason's name, as a metric label carries it.
func (r CloseReason) String() string {
	if int(r) < len(closeReasons) {
		return closeReasons[r]
	}
	return "close-reason(" + strconv.Itoa(int(r)) + ")"
}

// DropReason says why a stream did not send a message that was given to it. The
// set is closed: each has a counter.
type DropReason uint8

const (
	// DropRoom: it made room for a newer one, or found none.
	DropRoom DropReason = iota
	// DropTooBig: it was larger than Config.Bytes.
	DropTooBig
	// DropClosed: it was waiting or being written when its stream was closed, or
	// its own coming closed it. What was being written may have got out after all.
	DropClosed

	// DropReasonCount is how many reasons there are.
	DropReasonCount = int(iota)
)

var dropReasons = [DropReasonCount]string{"room", "too-big", "closed"}

// String is the reason's name, as a metric label carries it.
func (r DropReason) String() string {
	if int(r) < len(dropReasons) {
		return dropReasons[r]
	}
	return "drop-reason(" + strconv.Itoa(int(r)) + ")"
}
