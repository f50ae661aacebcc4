package inside

import "time"

// pace is how long a client may take over what it sends. How long it waits for
// an answer, or listens, is its own affair.
type pace struct {
	idle time.Duration // from one request to the first byte of the next
	head time.Duration // a request's head, from its first byte
	step time.Duration // until more of a body arrives
	body time.Duration // a whole body
	cut  time.Duration // from the shutdown to the end of who has not taken its response
}

var usualPace = pace{
	idle: 2 * time.Minute,
	head: 10 * time.Second,
	step: 10 * time.Second,
	body: 5 * time.Minute,
	cut:  5 * time.Second,
}

// How long a connection that was given up is still read: closing at once would
// make the kernel reset it, and the client would see that instead of why.
const (
	farewellStep = time.Second
	farewellTime = 5 * time.Second
)
