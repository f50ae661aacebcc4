// Package mux holds the life of an ask: from the caller who makes it, over the
// server's /requests connection on which it is announced, to the answer path
// on which it is answered, and back to the caller who is told.
//
// It is a state machine and nothing else. It knows no socket, starts no
// goroutine and reads no clock but the [Clock] it is given. What it sends to
// are four small interfaces: [Line] (a /requests connection), [Socket] (an
// answer path), [Caller] (who waits for an answer) and [Sink] (who hears a
// container's notifications).
//
//	              claim ends, path not open (R7)
//	    ┌────────────────────────────────────────────┐
//	    ▼                                            │
//	waiting ──live claim: minted, on the wire──▶ announced ──path opens──▶ open
//	    ▲                                            ▲                      │
//	    │ claim ends             --reask-after (A5)  │                      │
//	    ├──────────────────── parked ────────────────┘                      │
//	    │                        ▲                                          │
//	    │                        └── path ends abruptly, claim live ◀───────┤
//	    └─────────────────────────── path ends abruptly, no claim ◀─────────┤
//	                                                                        │
//	done ◀── message and clean close: answered (A4) or unreadable (A7) ◀────┤
//	     ◀── clean close without a message: not served (A6) ◀───────────────┤
//	     ◀── message over the limit, or without room: too big (W9), no room ◀┘
//	     ◀── from any state: the mux stops; the caller of an ask that is
//	         waiting or parked has gone; an ask without a caller is lost or breaks (A10)
//
// The resident notifications ask of each container ([codec.Notifications],
// protocol N) goes through the same states, but is never done before the mux
// stops or its container is forgotten: however its path ends it is asked again,
// at the latest on the next connection.
//
// An ask has a channel, and the channel a row in the table, exactly while it
// is announced or open. A channel that is not in the table is refused without
// any lock.
//
// # Order
//
// A container keeps its asks in one list, in the order in which they were made.
// A new claim announces what waits by walking that list, so lost, broken and new
// asks need no sorting (protocol R7). Minting a channel and handing its frame to
// the Line happen under one lock, so the wire order is the channel order (R2).
//
// # Coming and going
//
// A container is in the table from its first use until [Mux.Sweep] finds that it
// has had nothing for [Config.Idle] (protocol G5). Whatever may find it at that
// moment (Enter, Claim, Ask) either is first, and keeps it, or sees that it is
// forgotten and begins its successor, which has rows of its own in the channel
// table and a first channel drawn anew: what was announced before is unknown for
// ever (R2).
//
// Where there are Limits.Containers, who would begin one more first has those
// forgotten that have had nothing for longest, however short that is of Config.Idle.
//
// Apart from that it is present or not (G6): present from an entry until it was
// entered by nobody for Config.Idle. Only what is not present is forgotten.
//
// # Limits
//
// An ask takes its place under its container's lock, before anything else is done
// for it, and gives it back when it leaves the container's list. Those of all
// containers are counted by kind, next to the gauges that each ask changes anyway:
// the bound on all of them costs no cache line of its own. A container takes its
// place under Mux.beginning, as everything that changes the table.
//
// # Locks
//
// Mux.clearing (room is made for a container) is taken before any other.
// Mux.beginning (a container begins or is forgotten; Config.FirstChannel,
// Config.NewSink and Forgetter are called under it) and presence.mu (one comes or
// goes; Followers are called under it) are never held together. Container.mu may
// be taken under either. It guards everything that changes in a container, its
// asks, its claim and their paths. It is a leaf: under it only Line.Announce, the
// Clock, Config.Now and the two tables are called, none of which may call back.
// Callers are settled, lines flushed and probed, sockets closed and asked, and
// sinks notified with no lock held.
package mux
