// Package sock reaches below net.Conn: reads that hold no buffer while they
// wait, writes that never wait, a look at whether the peer is still there, and
// listeners whose sockets notice a dead peer.
//
// On Unix a *net.TCPConn or *net.UnixConn gets the fast ways, and so does what a
// listener of this package accepts, which on Linux is less than package net would
// make of it. TLS over one of these has them too, by ServeTLS. Every other net.Conn
// (pipes, wrappers, others' TLS) gets slower ones that are as correct, because going
// round such a connection to its descriptor would corrupt what it carries.
package sock
