package stream_test

import (
	"fmt"
	"net"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/pkg/stream"
)

// A hub publishes to a stream over a connection; internal/sock makes a Conn of
// any net.Conn.
func Example() {
	var counters stream.Counters
	hub := stream.NewHub(&stream.Config{Counters: &counters})

	ours, client := net.Pipe()
	closed := make(chan stream.CloseReason, 1)
	s := hub.Open(sock.Wrap(ours), func(_ *stream.Stream, why stream.CloseReason) { closed <- why })

	event := []byte("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
	fmt.Println("taken by", hub.Publish(stream.Message{Bytes: event, Key: "notifications/tools/list_changed"}))

	heard := make([]byte, len(event))
	n, _ := client.Read(heard)
	fmt.Printf("heard %.14q…\n", heard[:n])

	s.Close(stream.CloseLeft)
	fmt.Println("closed:", <-closed)
	fmt.Println("taken by", hub.Publish(stream.Message{Bytes: event}))
	// Output:
	// taken by 1
	// heard "event: message"…
	// closed: left
	// taken by 0
}
