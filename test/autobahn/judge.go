package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The suite's words that are no failure.
const (
	ok            = "OK"
	nonStrict     = "NON-STRICT"
	informational = "INFORMATIONAL" // either way is right
)

// judgement is what became of a group.
type judgement struct {
	group
	ran                        int
	ok, lenient, informational int
	wrong                      []string // what is not as it must be, in the order of the cases
}

// judge sorts the cases into their groups. Counted: each group must have all of its cases.
func judge(ran map[string]outcome, counted bool) []judgement {
	judged := make([]judgement, len(groups))
	for i, g := range groups {
		judged[i].group = g
	}
	extra := judgement{group: group{number: "?", about: "not in groups.go"}}
	for _, id := range slices.SortedFunc(maps.Keys(ran), compareNumbers) {
		number, _, _ := strings.Cut(id, ".")
		i := slices.IndexFunc(groups, func(g group) bool { return g.number == number })
		if i < 0 {
			extra.wrong = append(extra.wrong, id+" is of no group that is known")
			continue
		}
		judged[i].add(id, ran[id])
	}
	for i := range judged {
		j := &judged[i]
		if counted && j.ran != j.cases {
			j.wrong = append(j.wrong, fmt.Sprintf("%d cases ran, and there must be %d", j.ran, j.cases))
		}
	}
	if len(extra.wrong) > 0 {
		judged = append(judged, extra)
	}
	return judged
}

// add judges one case.
func (j *judgement) add(id string, o outcome) {
	j.ran++
	_, excused := lenient[id]
	wrong := ""
	switch closedWell := o.BehaviorClose == ok || o.BehaviorClose == informational; {
	case !closedWell:
		wrong = o.BehaviorClose + " at the close: " + o.ResultClose
		if o.Behavior != ok {
			wrong = o.Behavior + ": " + o.Result + "; " + wrong
		}
	case o.Behavior == nonStrict && excused:
		j.lenient++
	case excused:
		wrong = o.Behavior + ", no longer " + nonStrict + ": take it out of lenient.go"
	case o.Behavior == ok:
		j.ok++
	case o.Behavior == informational:
		j.informational++
	default:
		wrong = o.Behavior + ": " + o.Result
	}
	if wrong != "" {
		j.wrong = append(j.wrong, fmt.Sprintf("%s %s [%s]", id, o.Description, wrong))
	}
}

// tell prints a line for each group, and what is wrong in it.
func tell(half string, judged []judgement) error {
	cases, wrong := 0, 0
	for _, j := range judged {
		cases += j.ran
		wrong += len(j.wrong)
		if j.ran == 0 && len(j.wrong) == 0 {
			continue
		}
		fmt.Printf("%-10s %3s %-24s %3d ok  %d non-strict  %d informational  %d wrong\n",
			half, j.number, j.about, j.ok, j.lenient, j.informational, len(j.wrong))
		for _, w := range j.wrong {
			fmt.Println("  FAIL", w)
		}
	}
	if wrong > 0 || cases == 0 {
		return fmt.Errorf("%d cases ran, %d things are wrong", cases, wrong)
	}
	return nil
}

// compareNumbers has 9.2 before 10.1.
func compareNumbers(a, b string) int {
	return slices.Compare(numbers(a), numbers(b))
}

func numbers(id string) (n []int) {
	for part := range strings.SplitSeq(id, ".") {
		i, _ := strconv.Atoi(part)
		n = append(n, i)
	}
	return n
}
