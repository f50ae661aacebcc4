package architecture

import (
	"strings"
	"testing"
)

// TestEveryPromiseOfSecurityNamesItsTest: a row of a table of promises without a
// test, or with one that does not exist, is no promise.
func TestEveryPromiseOfSecurityNamesItsTest(t *testing.T) {
	tests := testsInTree(t)
	promises, inTable := 0, false
	for line := range strings.Lines(read(t, "docs/security.md")) {
		switch {
		case strings.HasPrefix(line, "| promise | test |"):
			inTable = true
			continue
		case !strings.HasPrefix(line, "| "):
			inTable = inTable && strings.HasPrefix(line, "|---")
			continue
		case !inTable:
			continue
		}
		promises++
		named := testInRow.FindAllStringSubmatch(line, -1)
		if len(named) == 0 {
			t.Errorf("no test: %s", line)
		}
		for _, n := range named {
			if len(tests[n[1]]) == 0 {
				t.Errorf("%s is no test of this module: %s", n[1], line)
			}
		}
	}
	if promises < 25 {
		t.Errorf("docs/security.md has only %d promises", promises)
	}
}
