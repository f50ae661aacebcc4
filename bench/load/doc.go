// Package load plays everybody around a gateway: MCP clients that call, servers that answer, and readers of event streams,
// any number of each on a few threads, by [wire.Loop]. The floors and the peers get the same ones. Nothing in it allocates
// while it runs, and everything that arrives is checked: a wrong answer, or a notification that is missing or out of order,
// ends the run with an error. Needs Linux.
package load
