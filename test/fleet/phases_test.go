package main

import "testing"

func TestARestartExcusesWhatItTouchedAndNothingElse(t *testing.T) {
	p := newPhases()
	marks := map[phase]moment{}
	check := func(when string, excused, calm map[phase]bool) {
		t.Helper()
		for ph, m := range marks {
			if got := p.excuses(m); got != excused[ph] {
				t.Errorf("%s: what began %s is excused: %v", when, ph, got)
			}
			if got := p.calm(m); got != calm[ph] {
				t.Errorf("%s: what began %s is calm: %v", when, ph, got)
			}
		}
	}
	marks[steady] = p.mark()
	check("before", nil, map[phase]bool{steady: true})
	p.enter(restarting)
	marks[restarting] = p.mark()
	check("while restarting", map[phase]bool{steady: true, restarting: true}, nil)
	p.enter(recovering)
	marks[recovering] = p.mark()
	check("while recovering", map[phase]bool{steady: true, restarting: true}, nil)
	p.enter(steady)
	check("after", map[phase]bool{steady: true, restarting: true}, nil)
	marks[steady] = p.mark()
	check("long after", map[phase]bool{restarting: true}, map[phase]bool{steady: true})
}
