package inside

import (
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

// Listener is the name of this listener in metrics and logs.
const Listener = "inside"

// Where a panic was recovered, for Observer.Panicked.
const (
	PanicRequest = "inside-request"
	PanicStream  = "inside-stream"
)

// Why a notification reached nobody, for Observer.Unheard.
const (
	UnheardNoStream = "no-stream" // no session of the container has a stream open, and no subscription asked for it
	UnheardProgress = "progress"  // no request waits that asked for this progress (protocol N7)
	UnheardFull     = "full"      // more progress than its client reads, or than may wait for it
)

// Observer hears what is counted. Its methods must not block, and are called
// from many goroutines.
type Observer interface {
	// Refused counts a request that was refused; reason is one of Reasons.
	Refused(listener, reason string)
	// Exchange counts an ask that ended for its client, d after it was made;
	// outcome is the name of a mux.Outcome.
	Exchange(kind codec.Kind, outcome string, d time.Duration)
	// Unheard counts a notification that reached nobody.
	Unheard(reason string)
	// Panicked counts a panic that was recovered.
	Panicked(where string)
}

// silent is the Observer of a room that nobody observes.
type silent struct{}

func (silent) Refused(string, string)                     {}
func (silent) Exchange(codec.Kind, string, time.Duration) {}
func (silent) Unheard(string)                             {}
func (silent) Panicked(string)                            {}
