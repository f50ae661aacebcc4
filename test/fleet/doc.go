// Command fleet runs the gateway as it is meant to be run, and watches it: thousands of containers that come and go, one
// gateway, one answering process, all of them real processes on loopback.
//
//	go run ./test/fleet --containers 3000 --duration 10m --restart
//
// It builds the gateway and starts
//
//	gateway serve                     3 sockets a container: /requests, notifications, event stream
//	gateway answer --container '*'    in front of an MCP server with numbered notifications, in this process
//	fleet clients                     the containers' MCP clients, in a process of their own
//
// A call carries its container and a sequence number, and the reply has to be that call's own. A stream's notifications
// are numbered, and have to ascend without a gap, except where the stream was connected anew and around the restart.
// Memory and descriptors of each process have to stay flat. Progress lines say how it goes, a summary how it went, and
// the exit status is 1 if anything was wrong. Needs Linux (/proc) and Go, and as many descriptors per process as the
// gateway has sockets.
package main
