// Package answer is the server's half of the protocol: it listens for a container's asks at a gateway, opens the path
// of each before anything else (so that a running tool outlives a lost connection, protocol R8), has a Handler answer
// it, and closes the path cleanly.
//
// A provider fills in a Server and runs it, one per container, or a Fleet, which serves every container that a gateway
// has. The subpackage upstream has Handlers that relay to a real MCP server.
package answer
