//go:build linux

package render

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/bench/suite"
)

const (
	document = "../../docs/performance.md"
	results  = "../../docs/performance/results.json"
)

func read(t *testing.T) (*suite.Results, string) {
	t.Helper()
	b, err := os.ReadFile(results)
	if err != nil {
		t.Fatal(err)
	}
	r := new(suite.Results)
	if err := json.Unmarshal(b, r); err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(doc)
}

// Nobody improves a figure by hand.
func TestTheDocumentSaysWhatWasMeasured(t *testing.T) {
	r, doc := read(t)
	made, err := Document(doc, r)
	if err != nil {
		t.Fatal(err)
	}
	if made != doc {
		have, want := strings.Split(doc, "\n"), strings.Split(made, "\n")
		for i := range want {
			if i >= len(have) || have[i] != want[i] {
				t.Fatalf("line %d is not what results.json says, which is %q: run go run ./bench/report -render", i+1, want[i])
			}
		}
	}
}

func TestEveryChartIsDrawn(t *testing.T) {
	r, doc := read(t)
	dir := t.TempDir()
	if err := Charts(dir, r); err != nil {
		t.Fatal(err)
	}
	drawn, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range drawn {
		if !strings.Contains(doc, "(performance/"+file.Name()+")") {
			t.Errorf("the document does not show %s", file.Name())
		}
		if svg, err := os.ReadFile(dir + "/" + file.Name()); err != nil || !strings.HasPrefix(string(svg), "<svg") {
			t.Errorf("%s is no SVG: %v", file.Name(), err)
		}
	}
	if len(drawn) != 4 {
		t.Errorf("%d charts", len(drawn))
	}
}

func TestADocumentWithoutABlockIsAnError(t *testing.T) {
	r, doc := read(t)
	if _, err := Document(strings.Replace(doc, "<!-- end of idle -->", "", 1), r); err == nil {
		t.Error("a block that does not end was taken")
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "–", 1.234: "1.23", 12345: "12,300", 1_234_567: "1,230,000", 999.6: "1,000"} {
		if got := count(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{12.34: "12.3 µs", 1234: "1.23 ms"} {
		if got := micros(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}
