package answer

import "sync/atomic"

// FleetStats is a snapshot of a Fleet's counters. All but Following, Containers and Listening, and the gauges of Stats,
// only grow.
type FleetStats struct {
	Stats               // of all containers together; Connected says it of any
	Following    bool   // the list of containers is open, and has named all there were
	Lists        uint64 // lists of containers opened
	ListFailures uint64 // lists that broke off or could not be opened
	UnknownIDs   uint64 // lines that named a container with an id that is none (protocol G3)
	Containers   int64  // containers served, those that are being left among them
	Listening    int64  // containers whose /requests connection is open
	Came, Went   uint64 // containers begun to be served, and begun to be left
}

type fleetCounters struct {
	following                                   atomic.Bool
	lists, listFailures, unknownIDs, came, went atomic.Uint64
	containers                                  atomic.Int64
}

// Stats is safe for concurrent use, before, during and after Run.
func (f *Fleet) Stats() FleetStats {
	c := &f.counters
	return FleetStats{
		Stats:        f.server.Stats(),
		Following:    c.following.Load(),
		Lists:        c.lists.Load(),
		ListFailures: c.listFailures.Load(),
		UnknownIDs:   c.unknownIDs.Load(),
		Containers:   c.containers.Load(),
		Listening:    f.server.counters.connected.Load(),
		Came:         c.came.Load(),
		Went:         c.went.Load(),
	}
}
