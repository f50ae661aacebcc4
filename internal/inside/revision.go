package inside

import "strings"

// revision is one MCP revision, as an index into revisions. It is written into
// session ids: the order of revisions is part of their format.
type revision uint8

var revisions = [...]string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// newest is what a client that asks for a revision we do not serve is offered.
const newest = revision(len(revisions) - 1)

func (r revision) String() string { return revisions[r] }

func (r revision) known() bool { return int(r) < len(revisions) }

func parseRevision(name string) (revision, bool) {
	for i := range revisions {
		if revisions[i] == name {
			return revision(i), true
		}
	}
	return 0, false
}

// supportedRevisions lists what we serve, newest first, for error messages.
func supportedRevisions() string {
	var b strings.Builder
	for i := len(revisions) - 1; i >= 0; i-- {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(revisions[i])
	}
	return b.String()
}
