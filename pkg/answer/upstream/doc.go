// Package upstream answers containers' asks from a real MCP server, over Streamable HTTP or a command's standard input and
// output: an Upstream is the answer.Handler of one container with an MCP session of its own, and a Shared has those of many
// containers with one session for all.
//
// Every revision of MCP is spoken. At each connection the server is asked for its era (server/discover). One of the stateless
// revision is served without a handshake: each request declares itself in _meta, as far as the asking client has not, and
// notifications come by a subscription that is kept open (subscription.go). Any other, and one that does not answer the
// question, gets the handshake and is sent nothing of such declarations (handshake.go, params.go).
//
// A stateless server over HTTP may want arguments of its tools' calls in headers too. Which, its lists of tools say; one that
// misses some refuses the call, and then its list is read and the call sent once more (toolheaders.go).
//
// The transports are those of the official Go SDK, used below its client at the level of JSON-RPC messages: params,
// results, error data and notifications pass as the JSON they are, so that nothing the SDK does not know is lost. What
// the SDK's client does above its transports is done here: the beginning of a session, the headers by which requests are
// routed, and the standalone stream (see standalone.go).
package upstream
