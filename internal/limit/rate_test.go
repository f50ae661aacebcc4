package limit

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"
)

var began = time.Unix(1_700_000_000, 0)

func TestAnAddressMayConnectSoOftenInASecond(t *testing.T) {
	r := NewRate(10)
	from, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	admitted := func(from netip.Addr, at time.Duration) (n int) {
		for range 100 {
			if r.Admit(from, began.Add(at)) {
				n++
			}
		}
		return n
	}
	for _, step := range []struct {
		from netip.Addr
		at   time.Duration
		want int
	}{
		{from, 0, 10},
		{other, 0, 10},
		{from, 99 * time.Millisecond, 0},
		{from, 100 * time.Millisecond, 1},
		{from, 600 * time.Millisecond, 5},
		{from, 10 * time.Second, 10},
	} {
		if got := admitted(step.from, step.at); got != step.want {
			t.Errorf("%v after %v: %d were admitted, want %d", step.from, step.at, got, step.want)
		}
	}
}

func TestWhoseAddressesAreOne(t *testing.T) {
	for name, test := range map[string]struct {
		first, second string
		same          bool
	}{
		"a network of 64 bits":      {"2001:db8::1", "2001:db8::ffff:1", true},
		"another":                   {"2001:db8::1", "2001:db8:0:1::1", false},
		"IPv4 in IPv6":              {"192.0.2.1", "::ffff:192.0.2.1", true},
		"neighbours of IPv4":        {"192.0.2.1", "192.0.2.2", false},
		"neighbours, as IPv6 knows": {"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
	} {
		r := NewRate(1)
		r.Admit(netip.MustParseAddr(test.first), began)
		if got := !r.Admit(netip.MustParseAddr(test.second), began); got != test.same {
			t.Errorf("%s: one address %v, want %v", name, got, test.same)
		}
	}
}

func TestLoopbackIsExempt(t *testing.T) {
	r := NewRate(1)
	for _, from := range []netip.Addr{netip.MustParseAddr("127.0.0.7"), netip.IPv6Loopback(), netip.MustParseAddr("::ffff:127.0.0.1"), {}} {
		for range 10 {
			if !r.Admit(from, began) {
				t.Errorf("%v is refused", from)
			}
		}
	}
	if n := r.Addresses(); n != 0 {
		t.Errorf("%d addresses are known", n)
	}
}

func TestTheTableIsBounded(t *testing.T) {
	r := NewRate(2)
	r.most = 100
	at := func(n int) netip.Addr {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], 10<<24|uint32(n))
		return netip.AddrFrom4(a)
	}
	for n := range 1000 {
		if !r.Admit(at(n), began) {
			t.Fatalf("address %d is refused at its first connection", n)
		}
		if r.Addresses() > 100 {
			t.Fatalf("%d addresses are known", r.Addresses())
		}
	}
	// Those whose buckets are full again make way for the next.
	r.Admit(at(5000), began.Add(2*time.Second))
	if n := r.Addresses(); n != 1 {
		t.Errorf("%d addresses are known that need not be", n)
	}
}

// stub is a listener whose connections come from where they say.
type stub struct {
	net.Listener
	conns []net.Conn
}

func (s *stub) Accept() (net.Conn, error) {
	if len(s.conns) == 0 {
		return nil, net.ErrClosed
	}
	first := s.conns[0]
	s.conns = s.conns[1:]
	return first, nil
}

// from is a connection of an address.
type from struct {
	net.Conn
	addr string
}

func (f from) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(f.addr)) }

func TestWhoConnectsTooFastIsClosed(t *testing.T) {
	ln := new(stub)
	var ours []net.Conn
	for _, addr := range []string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.2:1"} {
		near, far := net.Pipe()
		ours = append(ours, far)
		ln.conns = append(ln.conns, from{near, addr})
	}
	refused := 0
	limited := Listen(ln, NewRate(1), []byte("no"), func() { refused++ })
	for _, want := range []string{"192.0.2.1:1", "192.0.2.2:1"} {
		conn, err := limited.Accept()
		if err != nil || conn.RemoteAddr().String() != want {
			t.Fatalf("accepted %v, %v; want %s", conn, err, want)
		}
		defer conn.Close()
	}
	if _, err := limited.Accept(); err != net.ErrClosed || refused != 1 {
		t.Errorf("%v, and %d were refused", err, refused)
	}
	if _, err := ours[1].Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the second one is not closed: %v", err)
	}
}
