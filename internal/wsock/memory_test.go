//go:build linux && !race

package wsock

import (
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/diverge-network/gateway/internal/keepalive"
	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

// idleGate is the most that an idle socket may cost, in bytes of Go heap and
// stack, the net.Conn included.
const idleGate = 3800

// counter is a Handler as small as can be: what it costs is not the socket's.
type counter struct{ messages, ended *atomic.Int64 }

func (c counter) Message(b *codec.Buffer) *Violation {
	b.Release()
	deep(make([]byte, 1), 100)
	c.messages.Add(1)
	return nil
}

func (c counter) Ended(Ending) { c.ended.Add(1) }

// deep grows the stack as a real handler would, and more: the collector would
// shrink it again, but only by half each time.
func deep(b []byte, n int) byte {
	var frame [512]byte
	copy(frame[:], b)
	if n == 0 {
		return frame[0]
	}
	return deep(frame[:1:1], n-1) + frame[n%len(frame)]
}

// rawPeer is a client without any Go memory of its own.
type rawPeer int

func dialRaw(t testing.TB, port int) rawPeer {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	return rawPeer(fd)
}

// exchange sends b and reads n bytes.
func (p rawPeer) exchange(t *testing.T, b []byte, n int) {
	t.Helper()
	if _, err := unix.Write(int(p), b); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, n)
	for got := 0; got < n; {
		m, err := unix.Read(int(p), buf[got:])
		if err != nil || m == 0 {
			t.Fatalf("read %d bytes, error %v", m, err)
		}
		got += m
	}
}

func footprint() int64 {
	runtime.GC()
	runtime.GC() // empties the pools' second hand
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// measuring is set in the process of its own that the measurement runs in: what
// other tests leave behind (stacks of ended goroutines, above all) would spoil
// it.
const measuring = "WSOCK_TEST_MEASURING"

func TestAnIdleSocketIsSmallAfterTraffic(t *testing.T) { idleSocket(t, nil) }

func TestAnIdleSocketThatWorksOnStacksIsSmallAfterTraffic(t *testing.T) {
	stacks := new(Stacks)
	defer stacks.Close()
	idleSocket(t, stacks)
}

func idleSocket(t *testing.T, stacks *Stacks) {
	if os.Getenv(measuring) == "" {
		alone := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		alone.Env = append(os.Environ(), measuring+"=1")
		out, err := alone.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	const sockets = 2000
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ring := keepalive.NewRing(time.Hour)
	ring.Start()
	defer ring.Close()
	cfg := &Config{MaxMessage: 1 << 20, Ring: ring, Stacks: stacks}
	var messages, ended atomic.Int64
	conns := make([]*Conn, sockets)
	peers := make([]rawPeer, sockets)

	before := footprint()
	for i := range conns {
		peers[i] = dialRaw(t, ln.Addr().(*net.TCPAddr).Port)
		defer unix.Close(int(peers[i]))
		nc, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = New(nc, nil, cfg)
		conns[i].Serve(counter{&messages, &ended})
	}
	fresh := (footprint() - before) / sockets

	traffic := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: true, Payload: pattern(1 << 10)})
	traffic = wstest.AppendFrame(traffic, wstest.Frame{Fin: true, Op: wstest.OpPing, Masked: true})
	big := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: true, Payload: pattern(64 << 10)})
	big = wstest.AppendFrame(big, wstest.Frame{Fin: true, Op: wstest.OpPing, Masked: true})
	for i, c := range conns {
		peers[i].exchange(t, traffic, 2)
		peers[i].exchange(t, big, 2)
		c.Append(nil, []byte("an ask"))
		c.Flush()
		peers[i].exchange(t, nil, 8)
	}
	after := (footprint() - before) / sockets
	scanned := []metrics.Sample{{Name: "/gc/scan/stack:bytes"}}
	metrics.Read(scanned)
	t.Logf("idle socket: %d bytes fresh, %d after traffic, of which the Conn %d; of its stack it uses %d",
		fresh, after, unsafe.Sizeof(Conn{}), scanned[0].Value.Uint64()/sockets)
	if messages.Load() != 2*sockets {
		t.Errorf("%d messages arrived", messages.Load())
	}
	if fresh > idleGate || after > idleGate {
		t.Errorf("an idle socket costs more than %d bytes", idleGate)
	}
	for _, c := range conns {
		c.Cut()
	}
	until(t, "the end of all sockets", func() bool { return ended.Load() == sockets })
}
