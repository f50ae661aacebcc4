// Package inside serves a container's MCP client: the Model Context Protocol
// over Streamable HTTP, at /containers/{id}/mcp and, for the container
// "default", at /mcp (protocol G1 to G3).
//
// Every revision of MCP is spoken at that one URL. A message is of the legacy era,
// 2024-11-05 to 2025-11-25, whose sessions initialize begins, or of the modern one,
// 2026-07-28, in which every request stands alone and says in its _meta what it is;
// eraOf tells them apart. The far side may be of either era: what a client of the
// other could not read is rewritten, and nothing else (Handler.rendered).
//
// A POST carries one JSON-RPC message, or up to 2025-03-26 a batch of them. What
// the provider's server has to answer (tools/list, tools/call, resources/list,
// resources/read) becomes an ask of package mux, and the request waits for it,
// however long that takes; the rest is answered here. The response is JSON if it
// comes soon. Where there is progress before, which goes to the request that asked
// for it and nobody else, or nothing comes for Config.SSEAfter, it becomes an event
// stream, which ends with the response.
//
// A GET opens the session's event stream, on which the container's notifications
// arrive (protocol N7), and a subscriptions/listen opens one of the modern era, on
// which those arrive that it asked for. A DELETE ends the session.
//
// A connection is judged step by step, and costs memory only for what has
// arrived: its request's head, then, once path, method, headers and session have
// been looked at, its body. What is refused costs none. Between requests it
// holds no buffer. The reading of requests is limited in time; waiting for an
// answer, and listening, are not. A client that takes nothing of an event stream
// for the streams' stall has left.
//
// A POST has one goroutine, its connection's. Mostly it need not wait for the
// answer: it leaves the exchange behind and waits for the next request, and who
// brings the answer writes the response (connection.leave). In all other cases, of
// progress, a batch, a response that becomes an event stream, a client that leaves
// or sends on, it is called back, or has stayed: it waits for the answers, looks
// for the client, and writes. What comes from elsewhere is handed to it, and nobody
// waits for it: the outcome of a call and a cancellation by a channel with room
// for both, progress by a bounded queue, which loses the oldest when the client
// does not keep up. A cancellation interrupts a write that waits for the client.
//
// Each container has a Face: its sessions, its calls in flight, its event streams
// and its subscriptions. The Face is the mux.Sink of the container, so a container
// without a client costs one small struct, and Faces makes them for
// mux.Config.NewSink.
//
// Locks, in the order in which they may nest:
//
//	absence.turn   the exchange that a connection's goroutine has left: held by who
//	 │             ends it, also over a write that does not wait
//	 └ Face.mu     see below
//	Face.opening   the coming and going of one container's event streams
//	 ├ Face.mu     its sessions, calls and streams
//	 │ └ archive.mu  the sessions of forgotten containers; a leaf
//	 ├ roster.mu   connections and streams of the listeners; a leaf
//	 └ the locks of package stream and of keepalive.Ring
//	tokens.mu      the progress tokens of one container; a leaf
//	queue.mu       the progress that waits for one response; a leaf
//	Tools          of toolheader: the tools of one container with headers; a leaf
//	Handler.mu     its listeners; a leaf
//
// Nothing of package mux is called while one of them is held, but that a container
// is exited under absence.turn. Of what package mux calls, call.Gone takes none of
// them, call.Settle that of Tools and, with what nests in it, absence.turn,
// Face.Notify tokens.mu and then queue.mu, and Face.Forgotten Face.mu and archive.mu.
//
// A tool may have arguments of its calls repeated in headers, for whoever routes
// them. The lists of tools that pass say which: the Face remembers that, and a
// modern tools/call whose headers do not repeat its arguments is refused. A tool of
// which no list has passed since the container began, or its tools last changed, is
// not known, and its calls are not checked.
//
// Over a limit a request is refused by the limit's name. Package mux counts asks
// and containers, the Face its event streams, under Face.mu: where there are too
// many, a GET and a subscriptions/listen are refused, and a response stays JSON.
//
// A container is entered while a request of it is served and while a stream is
// open, so that it is not forgotten meanwhile (protocol G5). What its sessions
// need outlives it in the archive.
package inside
