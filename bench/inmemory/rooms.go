package inmemory

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/diverge-network/gateway/bench/wire"
	"github.com/diverge-network/gateway/internal/inside"
	"github.com/diverge-network/gateway/internal/outside"
	"github.com/diverge-network/gateway/pkg/mux"
	"github.com/diverge-network/gateway/pkg/stream"
)

// Cost is what so many containers have cost, each with /requests, notifications path, event stream, session and state, after
// traffic; and what the exchanges of one caller after the other took, over all containers in turn.
type Cost struct {
	Containers int           `json:"containers"`
	Heap       int64         `json:"heap"`  // each
	Stack      int64         `json:"stack"` // each
	Conns      int64         `json:"conns"` // of that, the three connections and the waiting goroutines themselves
	Exchange   time.Duration `json:"exchange"`
	Opening    time.Duration `json:"opening"` // all of them
}

// rooms are the gateway's rooms on listeners without sockets, wired as internal/gateway does.
type rooms struct {
	out, in *listener
	outside *outside.Handler
	inside  *inside.Handler
	mux     *mux.Mux
	serving sync.WaitGroup
}

func open() (*rooms, error) {
	quiet := slog.New(slog.DiscardHandler)
	faces, err := inside.NewFaces(inside.FacesConfig{Stream: &stream.Config{Counters: new(stream.Counters)},
		SessionKey: bytes.Repeat([]byte("k"), 32), SessionTTL: 24 * time.Hour})
	if err != nil {
		return nil, err
	}
	r := &rooms{out: newListener(), in: newListener(), mux: mux.New(mux.Config{NewSink: faces.New, ReaskAfter: time.Second})}
	r.outside = outside.New(outside.Config{Mux: r.mux, MaxMessage: 64 << 20, Ping: time.Hour, Loopback: true, Logger: quiet})
	if r.inside, err = inside.New(inside.Config{Mux: r.mux, Faces: faces, MaxBody: 64 << 20, KeepAlive: time.Hour, Logger: quiet}); err != nil {
		return nil, err
	}
	r.serving.Go(func() { _ = r.outside.Serve(r.out) })
	r.serving.Go(func() { _ = r.inside.Serve(r.in) })
	return r, nil
}

func (r *rooms) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r.mux.Stop()
	err := errors.Join(r.outside.Shutdown(ctx), r.inside.Shutdown(ctx))
	r.serving.Wait()
	return err
}

// Measure opens so many containers and makes exchanges.
func Measure(containers, exchanges int) (cost Cost, err error) {
	r, err := open()
	if err != nil {
		return cost, err
	}
	cost.Containers = containers
	warm := make([]*container, 64) // pools and tables find their size
	for i := range warm {
		if warm[i], err = r.container(fmt.Sprintf("warm%d", i)); err != nil {
			return cost, err
		}
	}
	heap, stack := held()
	began := time.Now()
	all := make([]*container, containers)
	for i := range all {
		if all[i], err = r.container(fmt.Sprintf("c%d", i)); err != nil {
			return cost, err
		}
	}
	cost.Opening = time.Since(began)
	heapAfter, stackAfter := held()
	n := int64(containers)
	cost.Heap, cost.Stack = (heapAfter-heap)/n, (stackAfter-stack)/n
	if cost.Exchange, err = r.exchanges(all, exchanges); err != nil {
		return cost, err
	}
	runtime.KeepAlive(warm)
	if containers <= 10_000 { // with more of them the process ends sooner
		err = r.close()
	}
	return cost, err
}

// Bare is what three connections and the goroutines that wait on them cost without a gateway.
func Bare(containers int) int64 {
	heap, stack := held()
	conns := make([]*conn, 3*containers)
	for i := range conns {
		c := newConn()
		conns[i] = c
		go func() { _, _ = c.Read(make([]byte, 1)) }()
	}
	runtime.Gosched()
	heapAfter, stackAfter := held()
	for _, c := range conns {
		_ = c.Close()
	}
	return (heapAfter - heap + stackAfter - stack) / int64(containers)
}

func held() (heap, stack int64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), int64(m.StackInuse)
}

// container is the far end of one.
type container struct {
	id, session                     string
	requests, notifications, stream *conn
}

func (r *rooms) upgrade(path string) (*conn, error) {
	c := r.out.dial()
	c.send(wire.Upgrade(path))
	var head []byte
	err := c.receive(wire.HeadEnds, func(b []byte) { head = bytes.Clone(b) })
	if err == nil && !bytes.HasPrefix(head, []byte("HTTP/1.1 101 ")) {
		err = fmt.Errorf("no upgrade of %s: %.200q", path, head)
	}
	return c, err
}

func (r *rooms) container(id string) (c *container, err error) {
	c = &container{id: id}
	if c.requests, err = r.upgrade("/containers/" + id + "/requests"); err != nil {
		return nil, err
	}
	client := r.in.dial()
	defer client.Close()
	client.send(wire.Post("/containers/"+id+"/mcp", "", wire.Initialize))
	// A copy: the session must not keep the response alive, as it does not in a client.
	if err := client.receive(wire.Whole, func(b []byte) { c.session = strings.Clone(wire.Header(b, "mcp-session-id")) }); err != nil {
		return nil, err
	}
	channel, err := r.exchange(c, client)
	if err != nil {
		return nil, err
	}
	c.stream = r.in.dial()
	c.stream.send(wire.Listen("/containers/"+id+"/mcp", c.session))
	if err := c.stream.receive(wire.HeadEnds, nil); err != nil {
		return nil, err
	}
	if c.notifications, err = r.upgrade(fmt.Sprintf("/containers/%s/mcp/notifications/%d", id, channel)); err != nil {
		return nil, err
	}
	c.notifications.send(wire.AppendFrame(nil, wire.OpBinary, []byte("\x00"+`{"method":"notifications/tools/list_changed"}`)))
	if err := c.stream.receive(func(b []byte) bool { return bytes.Contains(b, []byte("list_changed")) }, nil); err != nil {
		return nil, err
	}
	for _, socket := range []*conn{c.requests, c.notifications} {
		socket.send(wire.AppendFrame(nil, wire.OpPing, []byte("?")))
		if err := socket.receive(wire.Framed(wire.OpPong), nil); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// exchange makes one on the client's connection. The first of a container brings the channel for notifications.
func (r *rooms) exchange(c *container, client *conn) (notifications uint32, err error) {
	client.send(wire.Post("/containers/"+c.id+"/mcp", c.session, wire.ToolCall(1)))
	want := 2
	if c.notifications != nil {
		want = 1
	}
	var channels [5]uint32
	err = c.requests.receive(func(b []byte) bool {
		for asks := 0; ; asks++ {
			_, ask, rest, ok := wire.Unframe(b)
			if !ok || len(ask) < 5 {
				return asks == want
			}
			channels[ask[4]] = binary.BigEndian.Uint32(ask)
			b = rest
		}
	}, nil)
	if err != nil {
		return 0, err
	}
	answer, err := r.upgrade(fmt.Sprintf("/containers/%s/mcp/call-tool/%d", c.id, channels[2]))
	if err != nil {
		return 0, err
	}
	answer.send(wire.Answer([]byte(`{"content":[]}`)))
	if err := answer.receive(wire.Framed(wire.OpClose), nil); err != nil {
		return 0, err
	}
	return channels[4], client.receive(func(b []byte) bool { return bytes.Contains(b, []byte(`"content"`)) && wire.Whole(b) }, nil)
}

// exchanges makes so many, each with the next container, and says what one took.
func (r *rooms) exchanges(all []*container, n int) (time.Duration, error) {
	client := r.in.dial()
	defer client.Close()
	began := time.Now()
	for i := range n {
		if _, err := r.exchange(all[(i*7919)%len(all)], client); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / time.Duration(n), nil
}
