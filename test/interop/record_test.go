package main

import (
	"strings"
	"testing"

	"github.com/diverge-network/gateway/test/results"
)

const who = `{"client":"some-sdk","version":"1","mode":"legacy","revision":"2025-11-25"}`

func TestEveryRequiredCheckIsRecordedWhateverTheClientSays(t *testing.T) {
	a := attempt{folder: "some", mode: legacy, checks: []string{"connect", "call", "ping"}}
	for _, c := range []struct {
		about string
		lines []string
		want  string // outcomes, in order
		wrong string // of the run as a whole; empty: nothing
	}{
		{"all is well", []string{who, `{"check":"connect","ok":true}`, `{"check":"call","ok":true}`, `{"check":"ping","absent":"removed"}`}, "pass pass absent", ""},
		{"checks are missing", []string{who, `{"check":"connect","ok":true}`}, "pass fail fail", ""},
		{"a check of its own", []string{who, `{"check":"call","ok":true}`, `{"check":"connect","ok":true}`, `{"check":"ping","ok":true}`, `{"check":"more","ok":false}`}, "pass pass pass fail", ""},
		{"silence", nil, "fail fail fail", "revision"},
		{"no first line", []string{`{"check":"connect","ok":true}`}, "fail fail fail", "who it is"},
		{"another revision", []string{strings.Replace(who, "2025-11-25", "2025-06-18", 1)}, "fail fail fail", `"2025-06-18"`},
		{"not JSON", []string{who, "Traceback"}, "fail fail fail", "Traceback"},
		{"neither ok nor absent", []string{who, `{"check":"connect"}`}, "fail fail fail", "no check"},
		{"a check twice", []string{who, `{"check":"connect","ok":true}`, `{"check":"connect","ok":true}`}, "pass fail fail", "twice"},
	} {
		var r results.Run
		err := record(c.lines, a, &r)
		var got []string
		for _, check := range r.Checks {
			got = append(got, string(check.Outcome))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.about, got, c.want)
		}
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, want %q", c.about, err, c.wrong)
		}
	}
}

func TestEveryCaseHasANameOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range attempts() {
		if seen[a.name()] {
			t.Errorf("%s is there twice", a.name())
		}
		seen[a.name()] = true
	}
}
