package inside

import (
	"encoding/json"
	"slices"
	"strings"
)

// revision is one MCP revision with sessions, as an index into revisions. It is
// written into session ids: the order of revisions is part of their format.
type revision uint8

var revisions = [...]string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

const (
	// newest is what a client that asks for a revision we do not serve is offered.
	newest = revision(len(revisions) - 1)
	// lastWithBatches is the last revision in which a client may send an array.
	lastWithBatches revision = 1
	// modernRevision has no sessions. Later revisions sort behind it.
	modernRevision = "2026-07-28"
)

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

// supportedRevisions is all that we serve, newest first.
func supportedRevisions() []string {
	all := append(revisions[:len(revisions):len(revisions)], modernRevision)
	slices.Reverse(all)
	return all
}

// supportedList is supportedRevisions as JSON, supportedText as words.
var (
	supportedList, _ = json.Marshal(supportedRevisions())
	supportedText    = strings.Join(supportedRevisions(), ", ")
)
