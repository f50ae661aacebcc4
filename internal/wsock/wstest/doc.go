// Package wstest is the other end of a WebSocket in tests: a raw peer over
// real TCP that can send anything, well formed or not, and reads what comes
// back frame by frame. It shares no code with package wsock, so the two check
// each other.
//
// Functions that take or hold a testing.TB fail the test themselves and must
// run in its goroutine, except where they return an error.
package wstest
