//go:build linux && !race

package wsock

import (
	"net"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

// exchangeGate is how many allocations one answer path may cost here: from the
// accepted connection to its end, with the 101, a message of 1 KiB and a Close.
const exchangeGate = 4

// signal is a Handler that tells when the connection has ended.
type signal struct{ ended chan Ending }

func (s *signal) Message(b *codec.Buffer) *Violation {
	b.Release()
	return nil
}

func (s *signal) Ended(e Ending) { s.ended <- e }

// anAnswer is what a client sends on an answer path.
func anAnswer() []byte {
	b := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: true, Payload: pattern(1 << 10)})
	return wstest.AppendFrame(b, wstest.Frame{Fin: true, Op: wstest.OpClose, Masked: true, Payload: wstest.CloseBody(1000, "")})
}

// answerPath runs one exchange over an accepted connection.
func answerPath(tb testing.TB, nc net.Conn, peer rawPeer, cfg *Config, s *signal, answer, response []byte) {
	key := []byte("dGhlIHNhbXBsZSBub25jZQ==")
	c := New(nc, nil, cfg)
	c.Prefix(AppendSwitching(response[:0], key))
	c.Flush()
	c.Serve(s)
	if _, err := unix.Write(int(peer), answer); err != nil {
		tb.Fatal(err)
	}
	if e := <-s.ended; !e.Clean {
		tb.Fatalf("ended with %+v", e)
	}
}

func listen(tb testing.TB) (ln net.Listener, port int) {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { ln.Close() })
	return ln, ln.Addr().(*net.TCPAddr).Port
}

func TestAnAnswerPathAllocatesLittle(t *testing.T) {
	ln, port := listen(t)
	cfg := &Config{MaxMessage: 1 << 20}
	s := &signal{ended: make(chan Ending, 1)}
	answer, response := anAnswer(), make([]byte, 0, 256)
	const warm, rounds = 50, 200
	var before, after runtime.MemStats
	var mallocs uint64
	for i := range warm + rounds {
		peer := dialRaw(t, port)
		nc, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&before)
		answerPath(t, nc, peer, cfg, s, answer, response)
		runtime.ReadMemStats(&after)
		unix.Close(int(peer))
		if i >= warm {
			mallocs += after.Mallocs - before.Mallocs
		}
	}
	each := float64(mallocs) / rounds
	t.Logf("%.2f allocations per answer path", each)
	if each > exchangeGate {
		t.Errorf("more than %d", exchangeGate)
	}
}

func TestAMessageInAndOutAllocatesNothing(t *testing.T) {
	ours, theirs := sockets(t)
	defer theirs.Close()
	s := &signal{ended: make(chan Ending, 1)}
	c := New(ours, nil, &Config{})
	c.Serve(s)
	wire := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: true, Payload: pattern(1 << 10)})
	wire = wstest.AppendFrame(wire, wstest.Frame{Fin: true, Op: wstest.OpPing, Masked: true})
	header, payload := pattern(5), pattern(300)
	in := make([]byte, 2+4+305)
	allocs := testing.AllocsPerRun(500, func() {
		theirs.Write(wire)
		for got := 0; got < 2; {
			n, err := theirs.Read(in[got:2])
			if err != nil {
				t.Fatal(err)
			}
			got += n
		}
		c.Append(header, payload)
		c.Flush()
		for got := 0; got < 2+2+305; {
			n, err := theirs.Read(in[got : 2+2+305])
			if err != nil {
				t.Fatal(err)
			}
			got += n
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
	c.Cut()
	<-s.ended
}

func BenchmarkAnswerPath(b *testing.B) {
	ln, port := listen(b)
	cfg := &Config{MaxMessage: 1 << 20}
	s := &signal{ended: make(chan Ending, 1)}
	answer, response := anAnswer(), make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		peer := dialRaw(b, port)
		nc, err := ln.Accept()
		if err != nil {
			b.Fatal(err)
		}
		answerPath(b, nc, peer, cfg, s, answer, response)
		unix.Close(int(peer))
	}
}

func BenchmarkIncoming(b *testing.B) {
	wire := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: true, Payload: pattern(1 << 10)})
	in := incoming{}
	b.SetBytes(int64(len(wire)))
	b.ReportAllocs()
	for b.Loop() {
		_, _, ev, bad := in.next(wire, 0)
		if ev != evMessage || bad != nil {
			b.Fatal(ev, bad)
		}
		in.takeMessage().Release()
	}
}
