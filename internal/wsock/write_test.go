package wsock

import (
	"encoding/binary"
	"net"
	"sync"
	"testing"
)

// Many goroutines append and flush while the peer reads now and then: all
// arrives, each goroutine's frames in order.
func TestConcurrentSendersKeepTheirOrder(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p, _ := served(t, cfg)
		c.sc.Conn.(*net.TCPConn).SetWriteBuffer(16 << 10)
		const senders, each = 8, 500
		var wg sync.WaitGroup
		for s := range senders {
			wg.Go(func() {
				for i := range each {
					var header [8]byte
					binary.BigEndian.PutUint32(header[:], uint32(s))
					binary.BigEndian.PutUint32(header[4:], uint32(i))
					c.Append(header[:], pattern(i))
					c.Flush()
				}
			})
		}
		var next [senders]uint32
		for range senders * each {
			b := p.ReadBinary()
			s, i := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
			if i != next[s] {
				t.Fatalf("sender %d: frame %d came, wanted %d", s, i, next[s])
			}
			next[s]++
			same(t, b[8:], pattern(int(i)))
		}
		wg.Wait()
	})
}

// A peer that reads nothing does not hold whoever sends, and is cut at once.
func TestSendingNeverBlocks(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, _, r := served(t, cfg)
		for range 24 {
			c.Append(nil, make([]byte, 1<<20))
			c.Flush()
		}
		if n := c.Pending(); n < 8<<20 {
			t.Fatalf("%d bytes are pending", n)
		}
		c.Cut()
		r.abrupt(t, 0)
	})
}

// Appending after the peer is gone is harmless, and nothing stays queued.
func TestWhatIsSentIntoABrokenConnectionIsDropped(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p, r := served(t, cfg)
		p.Reset()
		r.abrupt(t, 0)
		for range 10 {
			c.Append(nil, []byte("x"))
			c.Flush()
		}
		if n := c.Pending(); n != 0 {
			t.Fatalf("%d bytes are pending", n)
		}
	})
}

func TestOnlyAppendedFramesAreWritten(t *testing.T) {
	c, p, _ := served(t, &Config{})
	c.Flush()
	c.Append(nil, []byte("queued"))
	if n := c.Pending(); n != 2+6 {
		t.Fatalf("%d bytes are pending", n)
	}
	p.Ping([]byte("which flushes, too"))
	same(t, p.ReadBinary(), []byte("queued"))
	same(t, p.ReadPong(), []byte("which flushes, too"))
}
