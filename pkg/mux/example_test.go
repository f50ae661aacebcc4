package mux_test

import (
	"fmt"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// printer plays everybody the mux sends to.
type printer struct{}

func (printer) Announce(channel uint32, k codec.Kind, payload []byte) {
	fmt.Printf("announce %d %v %q\n", channel, k, payload)
}
func (printer) Flush()                      { fmt.Println("flush") }
func (printer) Probe()                      { fmt.Println("probe") }
func (printer) CloseUnserved()              { fmt.Println("close") }
func (printer) Settle(s mux.Settlement)     { fmt.Printf("%v: %s\n", s.Outcome, s.Answer.Body) }
func (printer) Notify(n codec.Notification) { fmt.Printf("notified: %s\n", n.Method) }

// One exchange: a caller asks while nobody is connected, a server connects,
// opens the ask's path and answers; then a notification arrives.
func Example() {
	m := mux.New(mux.Config{
		FirstChannel: func() uint32 { return 258 },
		NewSink:      func(string) mux.Sink { return printer{} },
	})
	defer m.Stop()
	c, err := m.Enter("default")
	if err != nil {
		fmt.Println(err) // 503
		return
	}
	defer c.Exit()
	if _, err := c.Ask(codec.CallTool, []byte(`{"name":"t"}`), printer{}); err != nil {
		fmt.Println(err) // 429 or 503
		return
	}

	claim, err := m.Claim("default")
	if err != nil {
		fmt.Println(err) // 409
		return
	}
	defer claim.Detach()
	claim.Attach(printer{})

	path, err := m.Open("default", codec.CallTool, 258, printer{})
	if err != nil {
		fmt.Println(err) // 404 or 409
		return
	}
	path.Arrived()
	path.Closed([]byte("\x00" + `{"content":[]}`))

	_, err = m.Open("default", codec.CallTool, 258, printer{})
	fmt.Println(err == mux.ErrUnknownChannel)

	notifications, err := m.Open("default", codec.Notifications, 259, printer{})
	if err != nil {
		fmt.Println(err)
		return
	}
	notifications.Notification([]byte("\x00" + `{"method":"notifications/tools/list_changed"}`))
	// Output:
	// announce 258 call-tool "{\"name\":\"t\"}"
	// announce 259 notifications ""
	// answered: {"content":[]}
	// true
	// notified: notifications/tools/list_changed
}
