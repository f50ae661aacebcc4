package main

import "time"

// report is what the clients' process says of itself, a line of JSON each time. Counts are from its beginning.
type report struct {
	Phase phase

	Up      int            // containers that came, and whose first call was answered
	Streams int            // event streams that are open
	Calls   int            // that ended, the wrong and the hung among them
	Failed  map[string]int // calls with a clear error, where a restart excuses it
	Wrong   int            // calls that got something else than their own answer
	Hung    int            // calls that got nothing for too long
	Running int

	Quiet    bool     // no calls are begun, nobody is replaced, and no reader stalls
	Names    []string // with Quiet, the containers that are up
	Stalling int      // event streams that nobody reads
	Stalled  int      // those that the gateway has ended

	Replaced      int
	Reopened      int // event streams
	Notifications int
	Gaps          map[string]gap // that are natural, by where they are
	Heard         uint64         // the notification that all should have heard: the last tellHeard's
	Deaf          int            // containers that have not, although they are there for long enough

	Steady  quantiles // calls while nothing but the steady phase was
	Restart quantiles // calls answered around a restart

	Late time.Duration // the most that this process itself came too late to what was due, for want of a processor

	Faults int
	Words  []string // the first faults
}

// gap is what many containers did not hear at one place.
type gap struct {
	Containers  int
	Least, Most uint64 // notifications each
}

// Commands to the clients' process, a line each.
const (
	tellRestarting = "restarting" // a phase
	tellRecovering = "recovering"
	tellSteady     = "steady"
	tellFinish     = "finish" // no more calls and no more replacing
	tellQuiet      = "quiet"
	tellLively     = "lively" // after quiet
	tellHeard      = "heard"  // with a number: report.Deaf is about it
)
