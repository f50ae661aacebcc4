// Package wsock speaks RFC 6455, version 13, in both roles, on a connection
// that was upgraded from HTTP or dialled with [Dial] (protocol W). It knows
// frames, messages and the closing handshake, and keeps clean and abrupt endings
// apart; what the messages mean is its [Handler]'s business.
//
// An idle connection holds no buffer and one goroutine. If it was Served that has
// a small stack: it works on one of [Stacks], or else the goroutine that has worked
// starts its successor and ends.
//
// # Goroutines
//
// A served connection has one reading goroutine, which alone calls the
// Handler, from Serve or Run until the connection has ended. What the socket does not
// take at once is written by a flushing goroutine, which lives until nothing
// is left to write. Both end when TCP ends. A stack of Stacks is a goroutine, too:
// some rest until Stacks.Close.
//
// # Locks
//
// Stacks.mu and Conn.mu are the only locks. Nothing is called under the former. The
// latter is a leaf, too: nothing is called under it but the
// connection's deadlines and codec's buffer pool, so that Append, Flush, Ping,
// Close and Cut may be called under any other lock.
package wsock
