package architecture

import (
	"regexp"
	"testing"
)

var (
	reportsSection = regexp.MustCompile(`(?s)\n## What users of other gateways report\n(.*?)(?:\n## |\z)`)
	reportRow      = regexp.MustCompile(`(?m)^\| ([0-9]+) \| ([^|]+) \| (.+) \|$`)
)

func TestEveryReportOfOtherGatewaysHasATest(t *testing.T) {
	section := reportsSection.FindStringSubmatch(read(t, "ARCHITECTURE.md"))
	if section == nil {
		t.Fatal("ARCHITECTURE.md has no table of the reports")
	}
	tests := testsInTree(t)
	rows := reportRow.FindAllStringSubmatch(section[1], -1)
	if len(rows) != 25 {
		t.Errorf("the table has %d rows, not 25", len(rows))
	}
	for _, row := range rows {
		named := testInRow.FindAllStringSubmatch(row[3], -1)
		if len(named) == 0 {
			t.Errorf("report %s names no test", row[1])
		}
		for _, n := range named {
			if len(tests[n[1]]) == 0 {
				t.Errorf("report %s names %s, which is no test of this module", row[1], n[1])
			}
		}
	}
}
