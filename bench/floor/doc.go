// Package floor is the least that a server can do for what the protocol forces: to answer a POST; to accept a connection,
// upgrade it, take one message and a Close; to write a frame to an open socket; to write the same bytes to many sockets; to
// hold an idle socket. What the gateway achieves is reported as a share of it.
//
// Where there is more than one way it has them all, and the fastest in the run at hand is the floor: fasthttp and gobwas/ws as
// they come, and loops of their own that parse nothing but what they cannot do without. Both listen through internal/sock, as
// the gateway does. Needs Linux.
package floor
