// Package wire holds the far ends of the benchmarks: clients and servers that are bare descriptors, without an object of the
// Go heap or a goroutine each, so that what they cost is small, is the same whatever they talk to, and stays out of what is
// measured (docs/decisions/0009).
//
// A [Peer] blocks; it is for opening things one by one. A [Loop] serves any number of [Far] ends by epoll on one thread and
// allocates nothing once they are open; it is for load. Needs Linux.
package wire
