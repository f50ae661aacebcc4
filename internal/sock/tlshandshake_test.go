package sock

import (
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
	"os"
	"sync"
	"testing"
	"time"
)

var serverCertificate = sync.OnceValues(func() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
})

func serverConfig(t testing.TB) *tls.Config {
	t.Helper()
	c, err := serverCertificate()
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{c}, DynamicRecordSizingDisabled: true}
}

func TestTLSIsRefusedToWhoDoesNotSpeakItInTime(t *testing.T) {
	const within = 30 * time.Millisecond
	for name, c := range map[string]struct {
		say  func(peer net.Conn)
		want func(error) bool
	}{
		"nothing":  {func(net.Conn) {}, func(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }},
		"a part":   {func(peer net.Conn) { peer.Write([]byte{22, 3, 1, 0, 100, 1}) }, func(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }},
		"its end":  {func(peer net.Conn) { peer.Close() }, func(err error) bool { return err == io.EOF }},
		"HTTP":     {func(peer net.Conn) { io.WriteString(peer, "GET / HTTP/1.1\r\n\r\n") }, isNoTLS},
		"nonsense": {func(peer net.Conn) { peer.Write(make([]byte, 100)) }, isNoTLS},
		"TLS 1.1": {func(peer net.Conn) {
			go tls.Client(peer, &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}).Handshake()
		}, func(err error) bool { return err != nil }},
		"a trickle": {trickle, func(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }},
	} {
		t.Run(name, func(t *testing.T) {
			c0, peer := tcpPair(t)
			c.say(peer)
			conn, err := ServeTLS(c0.Conn, serverConfig(t), within)
			if conn != nil || !c.want(err) {
				t.Errorf("%v, %v", conn, err)
			}
			c0.Close()
			peer.Close()
		})
	}
}

func isNoTLS(err error) bool {
	var e tls.RecordHeaderError
	return errors.As(err, &e)
}

// trickle sends a record header that promises much, and then a byte now and then
// until the connection is closed.
func trickle(peer net.Conn) {
	peer.Write([]byte{22, 3, 1, 64, 0})
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := peer.Write([]byte{1}); err != nil {
				return
			}
		}
	}()
}

func TestTLSWithoutFastWaysIsCorrectToo(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	peer := tls.Client(b, &tls.Config{InsecureSkipVerify: true})
	go peer.Write([]byte("x"))
	c, err := ServeTLS(a, serverConfig(t), guard)
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := c.ReadIdle()
	if err != nil || string(chunk.B) != "x" {
		t.Fatal(err)
	}
	chunk.Release()
	if n, err := c.TryWrite([]byte("xy")); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// timed is a connection that remembers its deadlines.
type timed struct {
	net.Conn
	deadlines []time.Time
}

func (c *timed) SetDeadline(at time.Time) error {
	c.deadlines = append(c.deadlines, at)
	return c.Conn.SetDeadline(at)
}

func TestTLSTakesItsDeadlinesBack(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	over := &timed{Conn: a}
	go tls.Client(b, &tls.Config{InsecureSkipVerify: true}).Handshake()
	if _, err := ServeTLS(over, serverConfig(t), guard); err != nil {
		t.Fatal(err)
	}
	if n := len(over.deadlines); n != 2 || over.deadlines[0].IsZero() || !over.deadlines[1].IsZero() {
		t.Errorf("%v", over.deadlines)
	}
}
