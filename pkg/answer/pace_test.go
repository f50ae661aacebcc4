package answer

import (
	"context"
	"testing"
)

func TestATurnThatComesTooLateIsGivenBack(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	p := &pace{free: 1}
	for late := 0; late < 20; { // await takes either when both have come
		v := newVisit()
		p.queueLine(v)
		if p.await(ended, v) {
			p.leave()
		} else {
			late++
		}
		if p.free != 1 {
			t.Fatalf("%d may begin, want 1", p.free)
		}
	}
}
