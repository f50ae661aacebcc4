// Package stack starts what the interoperability and conformance checks need as real processes on loopback: the gateway, the
// provider's server in front of an MCP server, and that MCP server.
package stack
