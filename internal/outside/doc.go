// Package outside serves the paths that a provider's server opens: /requests,
// on which it hears what a container asks, and one answer path for each ask.
// Both exist once more for every container under /containers/{id} (protocol G1
// to G3). A third path, /containers, lists the containers to whoever serves them
// all (G6).
//
// It turns HTTP upgrades into WebSockets and WebSockets into calls of package
// mux, and knows nothing of what the frames say. A connection is an arrival
// while HTTP is spoken on it: its shape is judged first, then the state of its
// container, and from then on it belongs to one wsock.Conn.
//
// One goroutine of the crew has a connection from its first byte. An answer path
// it serves to the end; everything that stays is read by a goroutine of its own.
//
// Locks: roster.mu and Handler.mu are leaves. Nothing of another room is called
// while one is held, but for closing a connection, and neither is taken while the
// other is. A follower's calls come under a lock of package mux, and take those
// of package stream only.
package outside
