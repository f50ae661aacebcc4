package main

import (
	"fmt"
	"strings"
	"testing"
)

// perfect is what a run without a fault brings.
func perfect() map[string]outcome {
	ran := map[string]outcome{}
	left := map[string]int{} // how many of a group are not lenient
	for _, g := range groups {
		left[g.number] = g.cases
	}
	for id := range lenient {
		ran[id] = outcome{Behavior: nonStrict, BehaviorClose: ok}
		number, _, _ := strings.Cut(id, ".")
		left[number]--
	}
	for number, n := range left {
		for i := range n {
			ran[fmt.Sprintf("%s.100.%d", number, i)] = outcome{Behavior: ok, BehaviorClose: ok}
		}
	}
	return ran
}

func wrongs(judged []judgement) (all []string) {
	for _, j := range judged {
		for _, w := range j.wrong {
			all = append(all, j.number+": "+w)
		}
	}
	return all
}

func TestARunWithoutAFaultPasses(t *testing.T) {
	judged := judge(perfect(), true)
	if w := wrongs(judged); len(w) > 0 {
		t.Fatal(w)
	}
	for i, j := range judged {
		if j.ran != groups[i].cases || j.ok+j.lenient != j.ran {
			t.Errorf("%+v", j)
		}
	}
	if err := tell("test", judged); err != nil {
		t.Error(err)
	}
}

func TestWhateverIsNotAsItMustBeFailsAndIsNamed(t *testing.T) {
	about := "Send text message."
	for name, c := range map[string]struct {
		change func(ran map[string]outcome)
		want   string
	}{
		"a failure": {func(ran map[string]outcome) {
			ran["1.100.1"] = outcome{"FAILED", ok, about, "got nothing", ""}
		}, "1: 1.100.1 Send text message. [FAILED: got nothing]"},
		"leniency without a reason": {func(ran map[string]outcome) {
			ran["1.100.1"] = outcome{nonStrict, ok, about, "late", ""}
		}, "1: 1.100.1 Send text message. [NON-STRICT: late]"},
		"a wrong status": {func(ran map[string]outcome) {
			ran["7.100.1"] = outcome{ok, "WRONG CODE", about, "", "should be 1000"}
		}, "7: 7.100.1 Send text message. [WRONG CODE at the close: should be 1000]"},
		"an unclean end of a lenient case": {func(ran map[string]outcome) {
			ran["6.4.1"] = outcome{nonStrict, "UNCLEAN", about, "late", "no Close"}
		}, "6: 6.4.1 Send text message. [NON-STRICT: late; UNCLEAN at the close: no Close]"},
		"a lenient case that is strict": {func(ran map[string]outcome) {
			ran["6.4.1"] = outcome{ok, ok, about, "", ""}
		}, "6: 6.4.1 Send text message. [OK, no longer NON-STRICT: take it out of lenient.go]"},
		"a lenient case that fails": {func(ran map[string]outcome) {
			ran["6.4.1"] = outcome{"FAILED", ok, about, "", ""}
		}, "6: 6.4.1 Send text message. [FAILED, no longer NON-STRICT: take it out of lenient.go]"},
		"a word that is not known": {func(ran map[string]outcome) {
			ran["3.100.1"] = outcome{"UNIMPLEMENTED", ok, about, "", ""}
		}, "3: 3.100.1 Send text message. [UNIMPLEMENTED: ]"},
		"a case too few": {func(ran map[string]outcome) { delete(ran, "9.100.7") }, "9: 53 cases ran, and there must be 54"},
		"a case too many": {func(ran map[string]outcome) {
			ran["9.200.1"] = outcome{Behavior: ok, BehaviorClose: ok}
		}, "9: 55 cases ran, and there must be 54"},
		"a group that is not known": {func(ran map[string]outcome) {
			ran["12.1.1"] = outcome{Behavior: ok, BehaviorClose: ok}
		}, "?: 12.1.1 is of no group that is known"},
	} {
		ran := perfect()
		c.change(ran)
		judged := judge(ran, true)
		if w := wrongs(judged); len(w) != 1 || w[0] != c.want {
			t.Errorf("%s: %q, want %q", name, w, c.want)
		}
		if tell("test", judged) == nil {
			t.Errorf("%s: the run passes", name)
		}
	}
}

func TestInformationalCasesPass(t *testing.T) {
	ran := perfect()
	ran["7.100.1"] = outcome{Behavior: informational, BehaviorClose: informational}
	if w := wrongs(judge(ran, true)); len(w) > 0 {
		t.Error(w)
	}
}

func TestASelectionOfCasesIsNotCountedButNothingIsNoRun(t *testing.T) {
	if err := tell("test", judge(map[string]outcome{"6.4.1": {Behavior: nonStrict, BehaviorClose: ok}}, false)); err != nil {
		t.Error(err)
	}
	if tell("test", judge(nil, false)) == nil {
		t.Error("no case at all passes")
	}
}

func TestFailuresAreInTheOrderOfTheirNumbers(t *testing.T) {
	ran := map[string]outcome{}
	for _, id := range []string{"9.10.1", "9.2.10", "9.2.9"} {
		ran[id] = outcome{Behavior: "FAILED", BehaviorClose: ok}
	}
	got := strings.Join(wrongs(judge(ran, false)), "\n")
	if a, b, c := strings.Index(got, "9.2.9 "), strings.Index(got, "9.2.10 "), strings.Index(got, "9.10.1 "); a < 0 || a > b || b > c {
		t.Error(got)
	}
}

func TestEveryLenientCaseHasAReason(t *testing.T) {
	for id, reason := range lenient {
		if reason == "" {
			t.Errorf("%s has none", id)
		}
	}
}
