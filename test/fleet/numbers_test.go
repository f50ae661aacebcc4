package main

import "testing"

func TestNumbersAreJudged(t *testing.T) {
	var n numbers
	n.connected()
	for i, step := range []struct {
		reconnect bool
		number    uint64
		want      heard
	}{
		{number: 7, want: heard{fresh: true}}, // the first is no gap, whatever it is
		{number: 8, want: heard{after: 7}},
		{number: 11, want: heard{after: 8, missed: 2}},
		{number: 11, want: heard{after: 11, disorder: true}},
		{number: 9, want: heard{after: 11, disorder: true}},
		{number: 12, want: heard{after: 11}}, // what came late moves nothing back
		{reconnect: true, number: 12, want: heard{after: 12, fresh: true, disorder: true}},
		{reconnect: true, number: 15, want: heard{after: 12, missed: 2, fresh: true}},
		{number: 17, want: heard{after: 15, missed: 1}},
	} {
		if step.reconnect {
			n.connected()
		}
		if got := n.hear(step.number); got != step.want {
			t.Errorf("step %d, number %d: %+v, want %+v", i, step.number, got, step.want)
		}
	}
	if got := n.newest(); got != 17 {
		t.Errorf("the newest is %d", got)
	}
}
