package sock

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// guard is when a test that waits for something gives up.
const guard = 20 * time.Second

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// tcpPair returns both ends of a connection accepted from Listen.
func tcpPair(t testing.TB) (ours *Conn, peer *net.TCPConn) {
	t.Helper()
	ln, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return accepted(t, ln)
}

func accepted(t testing.TB, ln net.Listener) (ours *Conn, peer *net.TCPConn) {
	t.Helper()
	dialled, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close(); dialled.Close() })
	return Wrap(nc), dialled.(*net.TCPConn)
}

// tlsPair speaks TLS over tcpPair.
func tlsPair(t testing.TB) (ours *Conn, peer *tls.Conn, wire *net.TCPConn) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	plain, wire := tcpPair(t)
	server := tls.Server(plain.Conn, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	peer = tls.Client(wire, &tls.Config{InsecureSkipVerify: true})
	shaken := make(chan error, 1)
	go func() { shaken <- server.Handshake() }()
	if err := peer.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-shaken; err != nil {
		t.Fatal(err)
	}
	return Wrap(server), peer, wire
}

func pipePair(t testing.TB) (ours *Conn, peer net.Conn) {
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	return Wrap(a), b
}

// eventually polls what only the kernel can tell, and has no event for.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(guard)
	for !cond() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("never: %s", what)
		}
	}
}

func TestDepartedSeesFINAndReset(t *testing.T) {
	t.Run("still there", func(t *testing.T) {
		c, _ := tcpPair(t)
		if c.Departed() {
			t.Error("a quiet peer has departed")
		}
	})
	t.Run("FIN", func(t *testing.T) {
		c, peer := tcpPair(t)
		peer.CloseWrite()
		eventually(t, "departed", c.Departed)
	})
	t.Run("reset", func(t *testing.T) {
		c, peer := tcpPair(t)
		peer.SetLinger(0)
		peer.Close()
		eventually(t, "departed", c.Departed)
	})
	t.Run("beside a parked reader", func(t *testing.T) {
		c, peer := tcpPair(t)
		read := make(chan error, 1)
		go func() { _, err := c.ReadIdle(); read <- err }()
		if c.Departed() {
			t.Error("a quiet peer has departed")
		}
		peer.Close()
		eventually(t, "departed", c.Departed)
		if err := <-read; err != io.EOF {
			t.Errorf("the reader got %v", err)
		}
	})
	for name, leave := range map[string]func(*net.TCPConn){
		"FIN":   func(peer *net.TCPConn) { peer.CloseWrite() },
		"reset": func(peer *net.TCPConn) { peer.SetLinger(0); peer.Close() },
	} {
		t.Run("unread bytes do not hide a "+name, func(t *testing.T) {
			if runtime.GOOS != "linux" {
				t.Skip("only Linux tells a half that ended behind unread bytes")
			}
			c, peer := tcpPair(t)
			peer.Write([]byte("x"))
			if c.Departed() {
				t.Error("departed by a byte")
			}
			leave(peer)
			eventually(t, "departed", c.Departed)
		})
	}
	t.Run("an end behind more than the kernel takes", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("only Linux tells how much is unread")
		}
		c, peer := tcpPair(t)
		peer.Write(make([]byte, 16<<10))
		if c.Departed() {
			t.Error("departed by a few bytes")
		}
		peer.SetWriteDeadline(time.Now().Add(guard))
		go peer.Write(make([]byte, 16<<20)) // fails when the test's connections are closed
		eventually(t, "departed", c.Departed)
	})
	t.Run("looking takes nothing", func(t *testing.T) {
		c, peer := tcpPair(t)
		peer.Write([]byte("x"))
		peer.CloseWrite()
		eventually(t, "departed", c.Departed)
		if b, err := io.ReadAll(c); string(b) != "x" || err != nil {
			t.Errorf("read %q, %v", b, err)
		}
	})
	t.Run("closed by us", func(t *testing.T) {
		c, _ := tcpPair(t)
		c.Close()
		if !c.Departed() {
			t.Error("our own close is not seen")
		}
	})
	t.Run("under TLS", func(t *testing.T) {
		c, _, wire := tlsPair(t)
		// The handshake's last records may be unread still.
		done := make(chan error, 1)
		go func() { _, err := c.ReadIdle(); done <- err }()
		wire.Close()
		<-done
		eventually(t, "departed", c.Departed)
	})
	t.Run("a pipe cannot tell", func(t *testing.T) {
		c, peer := pipePair(t)
		peer.Close()
		if c.Departed() {
			t.Error("a pipe has departed")
		}
	})
}

func TestCloseWriteLeavesTheOtherHalf(t *testing.T) {
	c, peer := tcpPair(t)
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(peer); len(b) != 0 || err != nil {
		t.Errorf("the peer read %q, %v", b, err)
	}
	peer.Write([]byte("late"))
	b := make([]byte, 4)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "late" {
		t.Errorf("read %q, %v", b, err)
	}
	p, _ := pipePair(t)
	if err := p.CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a pipe's half was closed: %v", err)
	}
}

func TestWrapKeepsAWrappedConn(t *testing.T) {
	c, peer := tcpPair(t)
	if Wrap(c) != c {
		t.Error("wrapped twice")
	}
	if c.raw == nil {
		t.Error("a TCP connection has no fast ways")
	}
	var moved Conn
	if moved.Init(c); moved.Conn != c.Conn || moved.raw != c.raw {
		t.Error("wrapped twice by Init")
	}
	// A wrapper that sees the bytes must not be bypassed.
	for _, nc := range []net.Conn{peer, c.Conn} {
		if Wrap(nc).raw == nil {
			t.Errorf("a %T has no fast ways", nc)
		}
	}
	for _, wrapper := range []net.Conn{struct{ *net.TCPConn }{peer}, struct{ net.Conn }{c.Conn}} {
		if w := Wrap(wrapper); w.raw != nil {
			t.Errorf("a %T was bypassed", wrapper)
		}
	}
}

func TestUnixSocketsGetTheFastWays(t *testing.T) {
	ln, err := net.Listen("unix", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	peer, err := net.Dial("unix", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	nc, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	c := Wrap(nc)
	if n, err := c.TryWrite2([]byte("a"), []byte("b")); n != 2 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	if err := c.SetUserTimeout(time.Second); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a user timeout on a Unix socket: %v", err)
	}
	if c.Departed() {
		t.Error("departed")
	}
	peer.Close()
	eventually(t, "departed", c.Departed)
}
