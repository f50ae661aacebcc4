package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

var (
	ruleInProtocol = regexp.MustCompile(`(?m)^- \*\*([GWRAND][0-9]+)\*\*`)
	rowInTable     = regexp.MustCompile(`(?m)^\| ([GWRAND][0-9]+) \| (.+) \|$`)
	testInRow      = regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")
	testInSource   = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// testsInTree maps each test function of the module to the folders that have one of that name.
func testsInTree(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		for _, m := range testInSource.FindAllSubmatch(b, -1) {
			found[string(m[1])] = append(found[string(m[1])], filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestEveryRuleOfTheProtocolHasATest(t *testing.T) {
	protocol := read(t, "docs/protocol.md")
	rows := map[string]string{}
	for _, m := range rowInTable.FindAllStringSubmatch(read(t, "ARCHITECTURE.md"), -1) {
		rows[m[1]] = m[2]
	}
	rules := ruleInProtocol.FindAllStringSubmatch(protocol, -1)
	if len(rules) < 45 {
		t.Fatalf("docs/protocol.md has only %d rules", len(rules))
	}
	tests := testsInTree(t)
	for _, m := range rules {
		rule := m[1]
		row, ok := rows[rule]
		if !ok {
			t.Errorf("%s has no row in ARCHITECTURE.md", rule)
			continue
		}
		delete(rows, rule)
		named := testInRow.FindAllStringSubmatch(row, -1)
		if len(named) == 0 {
			t.Errorf("%s names no test in ARCHITECTURE.md", rule)
		}
		if !slices.ContainsFunc(named, func(n []string) bool { return strings.HasPrefix(n[1], "Test"+rule+"_") }) {
			t.Errorf("%s: none of its tests is named after it", rule)
		}
		for _, n := range named {
			if len(tests[n[1]]) == 0 {
				t.Errorf("%s names %s, which is no test of this module", rule, n[1])
			}
		}
	}
	for rule := range rows {
		t.Errorf("ARCHITECTURE.md has a row for %s, which docs/protocol.md does not know", rule)
	}
}
