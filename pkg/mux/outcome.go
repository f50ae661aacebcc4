package mux

import "github.com/diverge-network/gateway/pkg/codec"

// Outcome is how an ask ended for its caller.
type Outcome uint8

const (
	Answered     Outcome = iota // a message and a clean close (protocol A4); Settlement.Answer
	Unreadable                  // the same, but the message could not be decoded (A7); Settlement.Err
	NotServed                   // a clean close without a message (A6)
	TooBig                      // a message over the limit (W9); Settlement.Limit
	NoRoom                      // a message for which there was no room; Settlement.Err
	Stopped                     // Mux.Stop
	Left                        // Ask.Leave; never in a Settlement, only in Stats
	Cancelled                   // Ask.Cancel; never in a Settlement, only in Stats
	OutcomeCount = iota
)

var outcomeNames = [OutcomeCount]string{"answered", "unreadable", "not-served", "too-big", "no-room", "stopped", "left", "cancelled"}

// String returns the outcome as a metric label.
func (o Outcome) String() string { return outcomeNames[o] }

// Settlement is what a caller is told.
type Settlement struct {
	Outcome Outcome
	Answer  codec.Answer  // Answered: the answer, borrowed until Settle returns
	Frame   *codec.Buffer // what Answer is a view of, which may be changed, and kept by Retain; nil where it is not lent
	Err     error         // Unreadable: the decode failure (protocol D1); NoRoom: what there is no room in
	Limit   int           // TooBig: the limit in bytes

	// Announced, with Stopped: a server had been told of the ask, so that it may
	// have been carried out.
	Announced bool
}

// Reason is why an ask was asked again.
type Reason uint8

const (
	ReasonLost  Reason = iota // its connection ended before its path opened (protocol R7)
	ReasonBroke               // its path ended abruptly (A5)
	ReasonEnded               // kind 4: its path ended cleanly or by an error message (N4)
	ReasonCount = iota
)

var reasonNames = [ReasonCount]string{"lost", "broke", "ended"}

// String returns the reason as a metric label.
func (r Reason) String() string { return reasonNames[r] }
