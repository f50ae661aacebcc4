// Package outside serves the paths that a provider's server opens: /requests,
// on which it hears what a container asks, and one answer path for each ask.
// Both exist once more for every container under /containers/{id} (protocol G1
// to G3). A third path, /containers, lists the containers to whoever serves them
// all (G6).
//
// It turns HTTP upgrades into WebSockets and WebSockets into calls of package
// mux, and knows nothing of what the frames say. fasthttp reads a request and
// hands the connection over; from then on it belongs to one wsock.Conn. What a
// request looks like is judged by the HTTP handler. What state its container is
// in is judged only after the connection was handed over, because fasthttp may
// drop a connection in between without telling: a claim taken earlier would be
// held for ever.
//
// Locks: roster.mu and Handler.mu are leaves. Nothing of another room is called
// while one is held, and neither is taken while the other is. A follower's calls
// come under a lock of package mux, and take those of package stream only.
package outside
