package snippets

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	pointYourClient = regexp.MustCompile(`(?s)\n### Point your client at it\n(.*?)\n## `)
	codeBlock       = regexp.MustCompile("(?s)\n```(?:go|js|sh)\n(.*?)```")
)

// TestReadmeShowsWhatIsRun holds every line that the README tells people to write against the snippets, which are run.
func TestReadmeShowsWhatIsRun(t *testing.T) {
	var run strings.Builder
	for _, name := range []string{"go/main.go", "typescript/list-and-call.mjs", "inspector/list-and-call"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		run.Write(b)
	}
	lines := make(map[string]bool)
	for line := range strings.Lines(run.String()) {
		lines[strings.TrimSpace(line)] = true
	}
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	section := pointYourClient.FindSubmatch(readme)
	if section == nil {
		t.Fatal("the README does not say how to point a client at the gateway")
	}
	blocks := codeBlock.FindAllSubmatch(section[1], -1)
	if len(blocks) != 3 {
		t.Errorf("the README has %d snippets, not 3", len(blocks))
	}
	for _, block := range blocks {
		for line := range strings.Lines(string(block[1])) {
			line = strings.TrimSpace(line)
			if line != "" && line != "// ..." && !strings.HasPrefix(line, "MCP=") && !lines[line] {
				t.Errorf("the README shows %q, which no snippet has", line)
			}
		}
	}
}
