//go:build linux && !race

package inside

import (
	"bytes"
	"fmt"
	"net/netip"
	"runtime"
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

// idleStreams opens a stream in each of n containers, and has each hear one
// notification and one comment.
func (w *world) idleStreams(prefix string, n int) (descriptors []int) {
	w.t.Helper()
	change, err := codec.ParseNotification([]byte(toolsChanged))
	if err != nil {
		w.t.Fatal(err)
	}
	open := w.streams.Streams.Load()
	name := func(i int) string { return fmt.Sprintf("%s-%d", prefix, i) }
	descriptors = make([]int, n)
	for i := range n {
		token, _ := w.faces.mint(name(i), newest)
		descriptors[i] = w.descriptor(getHead("/containers/"+name(i)+"/mcp", token))
	}
	await(w.t, "all streams", func() bool { return w.streams.Streams.Load() == open+int64(n) })
	buffer := make([]byte, 4096)
	for i, fd := range descriptors {
		face := w.mux.Lookup(name(i)).Sink().(*Face)
		face.Notify(change)
		for _, e := range face.streams {
			e.Beat(time.Now())
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
	const n = 2000
	w := newWorld(t)
	descriptors := w.idleStreams("first", 100)
	heapBefore, stacksBefore := goMemory()
	descriptors = append(descriptors, w.idleStreams("measured", n)...)
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
