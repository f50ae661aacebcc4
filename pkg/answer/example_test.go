package answer_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"

	"github.com/diverge-network/gateway/internal/outside"
	"github.com/diverge-network/gateway/pkg/answer"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// weather is a provider with one tool.
type weather struct{}

func (weather) Answer(_ context.Context, k codec.Kind, params []byte) ([]byte, error) {
	switch k {
	case codec.ListTools:
		return []byte(`{"tools":[{"name":"weather","inputSchema":{"type":"object"}}]}`), nil
	case codec.CallTool:
		name, err := codec.Member(params, "name")
		if err != nil || string(name) != `"weather"` {
			return nil, &codec.Error{Code: -32602, Message: "there is no such tool"}
		}
		return []byte(`{"content":[{"type":"text","text":"sunny"}]}`), nil
	}
	return nil, answer.ErrNotServed
}

func (weather) Notifications(ctx context.Context, send func([]byte) error) error {
	if err := send([]byte(`{"method":"notifications/tools/list_changed"}`)); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// A provider's server answers the container "c1" until its context ends. The gateway is one in the same process, and
// the example plays the container.
func ExampleServer() {
	quiet := slog.New(slog.DiscardHandler)
	heard := make(chan string, 1)
	asks := mux.New(mux.Config{NewSink: func(string) mux.Sink { return sink(heard) }})
	gateway := outside.New(outside.Config{Mux: asks, MaxMessage: 1 << 20, Logger: quiet})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() { served <- gateway.Serve(ln) }()

	server := &answer.Server{
		Gateway:   "ws://" + ln.Addr().String(),
		Container: "c1",
		Handler:   weather{},
		Logger:    quiet,
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()

	container, err := asks.Container("c1")
	if err != nil {
		panic(err)
	}
	answered := make(caller, 1)
	container.Ask(codec.CallTool, []byte(`{"name":"weather"}`), answered)
	fmt.Println(<-answered)
	container.Ask(codec.CallTool, []byte(`{"name":"tides"}`), answered)
	fmt.Println(<-answered)
	container.Ask(codec.ReadResource, []byte(`{"uri":"test:x"}`), answered)
	fmt.Println(<-answered)
	fmt.Println(<-heard)

	stop()
	fmt.Println(<-ended)
	if err := gateway.Shutdown(context.Background()); err != nil {
		fmt.Println(err)
	}
	<-served
	asks.Stop()

	// Output:
	// answered {"content":[{"type":"text","text":"sunny"}]}
	// answered {"code":-32602,"message":"there is no such tool"}
	// not-served
	// notifications/tools/list_changed
	// <nil>
}

// caller is told how one ask ended.
type caller chan string

func (c caller) Settle(s mux.Settlement) {
	if len(s.Answer.Body) == 0 {
		c <- s.Outcome.String()
		return
	}
	c <- s.Outcome.String() + " " + string(s.Answer.Body)
}

// sink hears a container's notifications.
type sink chan string

func (s sink) Notify(n codec.Notification) { s <- string(n.Method) }

// A provider's server answers every container of a gateway, as they come and go, until it is interrupted.
func ExampleFleet() {
	fleet := &answer.Fleet{
		Gateway: "ws://127.0.0.1:14979",
		Handler: func(container string) (h answer.Handler, release func(), err error) {
			return weather{}, func() { fmt.Println(container, "has gone") }, nil
		},
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := fleet.Run(ctx); err != nil {
		fmt.Println(err)
	}
}
