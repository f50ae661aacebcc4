// Package upstream answers containers' asks from a real MCP server, over Streamable HTTP or a command's standard input and
// output: an Upstream is the answer.Handler of one container with an MCP session of its own, and a Shared has those of many
// containers with one session for all.
//
// The transports are those of the official Go SDK, used below its client at the level of JSON-RPC messages: params,
// results, error data and notifications pass as the JSON they are, so that nothing the SDK does not know is lost. What
// the SDK's client does above its transports is done here: the handshake, the protocol version header, and the
// standalone stream (see standalone.go).
package upstream
