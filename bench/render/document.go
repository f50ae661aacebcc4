//go:build linux

package render

import (
	"fmt"
	"strings"

	"github.com/diverge-network/gateway/bench/suite"
)

// block is a part of the document that the results say.
type block struct {
	name string
	text func(*suite.Results) string // empty: what is there stays
}

var blocks = []block{
	{"machine", machine},
	{"targets", targets},
	{"micro", micro},
	{"exchange", exchange},
	{"latency", latency},
	{"big", big},
	{"fanout", fanOut},
	{"stalled", stalled},
	{"idle", idle},
	{"growth", growth},
	{"memory", inMemory},
	{"start", start},
	{"churn", churn},
	{"peers", peers},
	{"skipped", skipped},
}

// Document returns doc with each block, from <!-- NAME: made by bench/report --> to <!-- end of NAME -->, as the results say.
func Document(doc string, r *suite.Results) (string, error) {
	for _, b := range blocks {
		begin, end := fmt.Sprintf("<!-- %s: made by bench/report -->\n", b.name), fmt.Sprintf("<!-- end of %s -->", b.name)
		before, rest, ok := strings.Cut(doc, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			return "", fmt.Errorf("the document has no block %q: it begins with %q and ends with %q", b.name, begin, end)
		}
		if text := b.text(r); text != "" {
			doc = before + begin + "\n" + strings.TrimSpace(text) + "\n\n" + end + after
		}
	}
	return doc, nil
}

// Block is the text of one block.
func Block(name string, r *suite.Results) string {
	for _, b := range blocks {
		if b.name == name {
			return b.text(r)
		}
	}
	return ""
}

// table is a Markdown table; the first row is its head.
type table [][]string

func (t *table) add(cells ...string) { *t = append(*t, cells) }

func (t table) String() string {
	var b strings.Builder
	for i, row := range t {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|---" + strings.Repeat("|---:", len(row)-1) + "|\n")
		}
	}
	return b.String()
}
