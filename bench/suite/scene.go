//go:build linux

package suite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/diverge-network/gateway/bench/child"
	"github.com/diverge-network/gateway/bench/floor"
	"github.com/diverge-network/gateway/bench/load"
	"github.com/diverge-network/gateway/bench/wire"
)

// endpoint is the path of a container's MCP endpoint.
func endpoint(container string) string { return "/containers/" + container + "/mcp" }

// ask sends a request on a connection of its own, and returns the whole response.
func ask(addr string, request []byte) ([]byte, error) {
	p, err := wire.Dial(addr)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	response, err := p.Ask(request, make([]byte, 64<<10), wire.Whole)
	if err != nil {
		return nil, err
	}
	if s := wire.Status(response); s < 200 || s > 299 {
		return nil, fmt.Errorf("%.200q was answered with %.300q", request, response)
	}
	return response, nil
}

// begin makes an MCP session; the id is empty where the server is stateless.
func begin(addr, path string, headers ...string) (session string, err error) {
	response, err := ask(addr, wire.Post(path, "", wire.Initialize, headers...))
	if err != nil {
		return "", fmt.Errorf("initialize: %w", err)
	}
	session = wire.Header(response, "mcp-session-id")
	if _, err := ask(addr, wire.Post(path, session, wire.Initialized, headers...)); err != nil {
		return "", fmt.Errorf("initialized: %w", err)
	}
	return session, nil
}

// upgraded connects and upgrades.
func upgraded(addr, path string) (wire.Peer, error) {
	p, err := wire.Dial(addr)
	if err != nil {
		return p, err
	}
	head, err := p.Ask(wire.Upgrade(path), make([]byte, 4<<10), wire.HeadEnds)
	if err == nil && !bytes.HasPrefix(head, []byte("HTTP/1.1 101 ")) {
		err = fmt.Errorf("no upgrade of %s: %.200q", path, head)
	}
	if err != nil {
		p.Close()
		return p, err
	}
	return p, nil
}

// listening opens an event stream.
func listening(addr string, request []byte) (wire.Peer, error) {
	p, err := wire.Dial(addr)
	if err != nil {
		return p, err
	}
	head, err := p.Ask(request, make([]byte, 4<<10), wire.HeadEnds)
	if err == nil && wire.Status(head) != 200 {
		err = fmt.Errorf("no event stream: %.300q", head)
	}
	if err != nil {
		p.Close()
		return p, err
	}
	return p, nil
}

// pinged passes a ping through a socket.
func pinged(p wire.Peer, buf []byte) error {
	_, err := p.Ask(wire.AppendFrame(nil, wire.OpPing, []byte("?")), buf, wire.Framed(wire.OpPong))
	return err
}

// container is the far end of all that one container and its server keep open, in the order in which it is opened.
type container struct {
	id                              string
	session                         string
	requests, notifications, stream wire.Peer
}

// parts of a container to open.
type parts struct{ notifications, stream bool }

// openContainer brings a container to where it idles: session made, one call answered, a ping answered on each socket, and,
// where both are open, one notification heard.
func openContainer(g child.Addresses, id string, what parts, buf []byte) (c *container, err error) {
	c = &container{id: id, requests: -1, notifications: -1, stream: -1}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if c.requests, err = upgraded(g.Outside, "/containers/"+id+"/requests"); err != nil {
		return c, err
	}
	client, err := wire.Dial(g.Inside)
	if err != nil {
		return c, err
	}
	defer client.Close()
	response, err := client.Ask(wire.Post(endpoint(id), "", wire.Initialize), buf, wire.Whole)
	if err != nil {
		return c, err
	}
	c.session = wire.Header(response, "mcp-session-id")
	if c.session == "" {
		return c, fmt.Errorf("initialize was answered with %.300q", response)
	}
	channel, err := firstCall(g, c, client, buf)
	if err != nil {
		return c, err
	}
	if what.stream {
		if c.stream, err = listening(g.Inside, wire.Listen(endpoint(id), c.session)); err != nil {
			return c, err
		}
	}
	if what.notifications {
		if c.notifications, err = upgraded(g.Outside, fmt.Sprintf("/containers/%s/mcp/notifications/%d", id, channel)); err != nil {
			return c, err
		}
	}
	if what.stream && what.notifications {
		notification := wire.AppendFrame(nil, wire.OpBinary, []byte("\x00"+`{"method":"notifications/tools/list_changed"}`))
		if err := c.notifications.Send(notification); err != nil {
			return c, err
		}
		if _, err := c.stream.Receive(buf, func(b []byte) bool { return bytes.Contains(b, []byte("tools/list_changed")) }); err != nil {
			return c, err
		}
	}
	for _, p := range []wire.Peer{c.requests, c.notifications} {
		if p >= 0 {
			if err := pinged(p, buf); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

// firstCall makes a container's first exchange, and returns the channel of its standing ask for notifications.
func firstCall(g child.Addresses, c *container, client wire.Peer, buf []byte) (notifications uint32, err error) {
	if err := client.Send(wire.Post(endpoint(c.id), c.session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`)); err != nil {
		return 0, err
	}
	var channels [5]uint32
	if _, err := c.requests.Receive(buf, func(b []byte) bool {
		asks := 0
		for {
			_, ask, rest, ok := wire.Unframe(b)
			if !ok || len(ask) < 5 || ask[4] > 4 {
				return asks == 2
			}
			channels[ask[4]] = binary.BigEndian.Uint32(ask)
			asks, b = asks+1, rest
		}
	}); err != nil {
		return 0, fmt.Errorf("the first ask: %w", err)
	}
	answer, err := upgraded(g.Outside, fmt.Sprintf("/containers/%s/mcp/call-tool/%d", c.id, channels[2]))
	if err != nil {
		return 0, err
	}
	defer answer.Close()
	if _, err := answer.Ask(wire.Answer(floor.Result), buf, wire.Framed(wire.OpClose)); err != nil {
		return 0, err
	}
	reply, err := client.Receive(buf, wire.Whole)
	if err != nil {
		return 0, err
	}
	if !bytes.Contains(reply, []byte(`"result"`)) {
		return 0, fmt.Errorf("the first call was answered with %.300q", reply)
	}
	return channels[4], nil
}

// close closes what is still open.
func (c *container) close() {
	for _, p := range []wire.Peer{c.stream, c.notifications, c.requests} {
		if p >= 0 {
			p.Close()
		}
	}
}

// serve gives the container's /requests to a crew, which answers on it from then on.
func (c *container) serve(crew *load.Crew, g child.Addresses, frames []byte, stamps load.Stamps) error {
	_, err := crew.AddServer(g.Outside, c.id, c.requests, frames, stamps)
	c.requests = -1
	return err
}

// exchangers are a crew of callers and of the servers of their containers.
type exchangers struct {
	*load.Crew
	containers []*container
}

// loops is how many threads a crew has: both cores are to be kept busy, whatever the server does.
const loops = 2

// newExchanges opens containers behind a gateway, whose servers answer with result, and callers that share them. label keeps
// containers of several apart.
func newExchanges(g child.Addresses, label string, containers, callers int, result []byte, stamped bool) (e *exchangers, err error) {
	e = new(exchangers)
	if e.Crew, err = load.NewCrew(loops); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	var stamps load.Stamps
	if stamped {
		stamps = make(load.Stamps, callers)
	}
	buf, frames := make([]byte, 64<<10), wire.Answer(result)
	for i := range containers {
		c, err := openContainer(g, fmt.Sprintf("%s-%d", label, i), parts{}, buf)
		if err != nil {
			return nil, err
		}
		e.containers = append(e.containers, c)
		if err := c.serve(e.Crew, g, frames, stamps); err != nil {
			return nil, err
		}
	}
	return e, e.addCallers(g.Inside, callers, stamps)
}

// addCallers adds callers that go through the containers in turn, each beginning at another.
func (e *exchangers) addCallers(inside string, callers int, stamps load.Stamps) error {
	for i := range callers {
		var requests []load.Request
		// All of a caller's containers, but no more than it takes to spread the callers.
		for j := range max(1, len(e.containers)/callers) {
			c := e.containers[(i+j*callers)%len(e.containers)]
			requests = append(requests, call(endpoint(c.id), c.session, i))
		}
		caller, err := e.AddCaller(inside, requests)
		if err != nil {
			return err
		}
		if stamps != nil {
			if err := caller.Stamp(stamps, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// call is a tools/call of 256 B with an id of its own.
func call(path, session string, number int, headers ...string) load.Request {
	id := 1000 + number
	arguments := fmt.Sprintf(`{%s%d,"message":"%s"}`, load.StampMark, number, bytes.Repeat([]byte("y"), 140))
	return load.Request{
		Bytes: wire.Post(path, session, wire.ToolCallOf(id, "echo", arguments), headers...),
		Want:  fmt.Appendf(nil, `"id":%d`, id),
	}
}

// close closes everything.
func (e *exchangers) close() {
	e.Crew.Close()
	for _, c := range e.containers {
		c.close()
	}
}

// newPosts is a crew of callers of one server that answers by itself, at path.
func newPosts(addr, path, session string, callers int, stamped bool, headers ...string) (crew *load.Crew, err error) {
	if crew, err = load.NewCrew(loops); err != nil {
		return nil, err
	}
	stamps := make(load.Stamps, callers)
	for i := range callers {
		r := call(path, session, i, headers...)
		if path == floor.PostPath || strings.HasPrefix(path, floor.BigPath) {
			r.Want = []byte(`"id":1`) // it answers with what it has
		} else if i == 0 {
			err = preflight(addr, r)
		}
		var caller *load.Caller
		if err == nil {
			caller, err = crew.AddCaller(addr, []load.Request{r})
		}
		if err == nil && stamped {
			err = caller.Stamp(stamps, i)
		}
		if err != nil {
			crew.Close()
			return nil, err
		}
	}
	return crew, nil
}

// newUpgrades is a crew that does what a server does for each exchange.
func newUpgrades(addr, path string, result []byte, atOnce int) (*load.Crew, error) {
	crew, err := load.NewCrew(loops)
	if err != nil {
		return nil, err
	}
	if err := crew.AddUpgrades(addr, path, wire.Answer(result), atOnce); err != nil {
		crew.Close()
		return nil, err
	}
	return crew, nil
}
