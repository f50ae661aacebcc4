// Package upstream answers a container's asks from a real MCP server: an answer.Handler with one MCP session behind it,
// over Streamable HTTP or a command's standard input and output.
//
// The transports are those of the official Go SDK, used below its client at the level of JSON-RPC messages: params,
// results, error data and notifications pass as the JSON they are, so that nothing the SDK does not know is lost. What
// the SDK's client does above its transports is done here: the handshake, the protocol version header, and the
// standalone stream (see standalone.go).
package upstream
