//go:build linux && !race

package inside

import (
	"bytes"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/diverge-network/gateway/pkg/codec"
)

// maxIdleStream bounds the Go memory, heap and stacks, that an idle event stream
// costs together with its container's Face and its session, in a container of
// its own and after traffic. It is this room's part of the 12 KB that an idle
// container may cost.
const maxIdleStream = 4608

// descriptor is a client's socket that costs no Go memory.
func (w *world) descriptor(request string) int {
	w.t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	to := netip.MustParseAddrPort(w.addr)
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := unix.Write(fd, []byte(request)); err != nil {
		w.t.Fatal(err)
	}
	return fd
}

// goMemory is what the heap and the stacks take.
func goMemory() (heap, stacks int64) {
	runtime.GC()
	runtime.GC() // the first empties pools into victims, the second frees those
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), int64(m.StackInuse)
}

// streamRequest asks for an event stream.
type streamRequest func(w *world, container string) string

func streamOfSession(w *world, container string) string {
	token, _ := w.faces.mint(container, newest)
	return getHead("/containers/"+container+"/mcp", token)
}

func streamOfSubscription(_ *world, container string) string {
	return strings.Replace(subscribeRequest(`"listen:0"`, toolsTopic), "/c1/", "/"+container+"/", 1)
}

// idleStreams opens a stream in each of n containers, and has each hear one
// notification and one comment.
func (w *world) idleStreams(request streamRequest, prefix string, n int) (descriptors []int) {
	w.t.Helper()
	change, err := codec.ParseNotification([]byte(toolsChanged))
	if err != nil {
		w.t.Fatal(err)
	}
	open := w.streams.Streams.Load()
	name := func(i int) string { return fmt.Sprintf("%s-%d", prefix, i) }
	descriptors = make([]int, n)
	for i := range n {
		descriptors[i] = w.descriptor(request(w, name(i)))
	}
	await(w.t, "all streams", func() bool { return w.streams.Streams.Load() == open+int64(n) })
	buffer := make([]byte, 4096)
	for i, fd := range descriptors {
		face := w.mux.Lookup(name(i)).Sink().(*Face)
		face.Notify(change)
		for e := range face.streams.all() {
			e.Beat(time.Now())
		}
		if subscribed := face.subscriptions.Load(); subscribed != nil {
			for _, e := range *subscribed.open.Load() {
				e.Beat(time.Now())
			}
		}
		var got []byte
		for !bytes.HasSuffix(got, keepAliveComment.Bytes) {
			k, err := unix.Read(fd, buffer)
			if err != nil || k == 0 {
				w.t.Fatalf("the stream ended: %v", err)
			}
			got = append(got, buffer[:k]...)
		}
	}
	return descriptors
}

func TestMemoryOfAnIdleStream(t *testing.T) {
	for name, request := range map[string]streamRequest{"session": streamOfSession, "subscription": streamOfSubscription} {
		t.Run(name, func(t *testing.T) { measureIdleStreams(t, request) })
	}
}

func measureIdleStreams(t *testing.T, request streamRequest) {
	const n = 2000
	w := newWorld(t)
	descriptors := w.idleStreams(request, "first", 100)
	heapBefore, stacksBefore := goMemory()
	descriptors = append(descriptors, w.idleStreams(request, "measured", n)...)
	defer func() {
		for _, fd := range descriptors {
			_ = unix.Close(fd)
		}
	}()
	heap, stacks := goMemory()
	heap, stacks = (heap-heapBefore)/n, (stacks-stacksBefore)/n
	t.Logf("an idle event stream in a container of its own: %d bytes of heap and %d of stack", heap, stacks)
	if heap+stacks > maxIdleStream {
		t.Errorf("an idle event stream costs %d bytes, more than %d", heap+stacks, maxIdleStream)
	}
	runtime.KeepAlive(w)
}

// TestBodiesCostMemoryAsTheyArrive has 50 clients each declare a body of 64 MiB
// and send one byte of it.
func TestBodiesCostMemoryAsTheyArrive(t *testing.T) {
	const clients, most = 50, 2 << 20
	w := newWorld(t, func(o *options) { o.maxBody = 64 << 20 })
	s := w.connect("c1")
	length, chunk := "Content-Length: 67108864", "Transfer-Encoding: chunked"
	post, unknown := postHead(s.path, s.token, length), postHead(s.path, "nonsense", length)
	for name, request := range map[string]string{
		"length":             post + "{",
		"chunk":              postHead(s.path, s.token, chunk) + "4000000\r\n{",
		"length, no session": unknown + "{",
		"chunk, no session":  postHead(s.path, "nonsense", chunk) + "4000000\r\n{",
		"GET":                strings.Replace(unknown, "POST", "GET", 1) + "{",
		"DELETE":             strings.Replace(unknown, "POST", "DELETE", 1) + "{",
	} {
		t.Run(name, func(t *testing.T) {
			before, _ := goMemory()
			refused := w.observed.of("refused inside malformed") + w.observed.of("refused inside unknown-session")
			descriptors := make([]int, clients)
			for i := range descriptors {
				descriptors[i] = w.descriptor(request)
			}
			peak := int64(0)
			measure := func() {
				heap, _ := goMemory()
				peak = max(peak, heap-before)
			}
			for range 10 {
				measure()
			}
			for _, fd := range descriptors { // has who still reads find the end, so that all was seen
				if err := unix.Shutdown(fd, unix.SHUT_WR); err != nil {
					t.Fatal(err)
				}
			}
			await(t, "all to be refused", func() bool {
				measure()
				return w.observed.of("refused inside malformed")+w.observed.of("refused inside unknown-session") == refused+clients
			})
			for _, fd := range descriptors {
				_ = unix.Close(fd)
			}
			t.Logf("%d KiB", peak>>10)
			if peak > most {
				t.Errorf("%d clients cost %d bytes, more than %d", clients, peak, most)
			}
		})
	}
}

// maxIdleConnection bounds what a connection costs that has had a request
// answered and waits for the next one: no buffer is held for it.
const maxIdleConnection = 6 << 10

// maxWaitingCall bounds what a call costs, its connection included, while it
// waits for its answer: its head and its body, and a stack, but no reader.
const maxWaitingCall = 12 << 10

func TestMemoryOfAWaitingCall(t *testing.T) {
	const n = 500
	w := newWorld(t)
	s := w.connect("c1")
	sent := 0
	call := func(n int) (descriptors []int) {
		for range n {
			body := strings.Replace(callBody, `"id":1`, fmt.Sprintf(`"id":%d`, sent), 1)
			descriptors = append(descriptors, w.descriptor(postHead(s.path, s.token, fmt.Sprintf("Content-Length: %d", len(body)))+body))
			sent++
		}
		awaitWaiting(t, w.mux, int64(sent))
		return descriptors
	}
	descriptors := call(50)
	heapBefore, stacksBefore := goMemory()
	descriptors = append(descriptors, call(n)...)
	heap, stacks := goMemory()
	heap, stacks = (heap-heapBefore)/n, (stacks-stacksBefore)/n
	t.Logf("a waiting call: %d bytes of heap and %d of stack", heap, stacks)
	if heap+stacks > maxWaitingCall {
		t.Errorf("a waiting call costs %d bytes, more than %d", heap+stacks, maxWaitingCall)
	}
	for _, fd := range descriptors {
		_ = unix.Close(fd)
	}
	awaitWaiting(t, w.mux, 0)
}

func TestMemoryOfAnIdleConnection(t *testing.T) {
	const n = 1000
	w := newWorld(t)
	s := w.connect("c1")
	request := postHead(s.path, s.token, fmt.Sprintf("Content-Length: %d", len(pingBody))) + pingBody
	open := func(n int) (descriptors []int) {
		buffer := make([]byte, 4096)
		for range n {
			fd := w.descriptor(request)
			if k, err := unix.Read(fd, buffer); err != nil || !bytes.HasPrefix(buffer[:k], []byte("HTTP/1.1 200")) {
				t.Fatalf("got %q, %v", buffer[:max(k, 0)], err)
			}
			descriptors = append(descriptors, fd)
		}
		return descriptors
	}
	descriptors := open(100)
	heapBefore, stacksBefore := goMemory()
	descriptors = append(descriptors, open(n)...)
	defer func() {
		for _, fd := range descriptors {
			_ = unix.Close(fd)
		}
	}()
	heap, stacks := goMemory()
	heap, stacks = (heap-heapBefore)/n, (stacks-stacksBefore)/n
	t.Logf("an idle connection: %d bytes of heap and %d of stack", heap, stacks)
	if heap+stacks > maxIdleConnection {
		t.Errorf("an idle connection costs %d bytes, more than %d", heap+stacks, maxIdleConnection)
	}
	runtime.KeepAlive(w)
}
