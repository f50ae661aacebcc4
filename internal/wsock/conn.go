package wsock

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diverge-network/gateway/internal/keepalive"
	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/pkg/codec"
)

const (
	// closeWait bounds how long our Close waits for the peer's.
	closeWait = 5 * time.Second

	// lingerWait bounds how long the peer is still read, and our last frames
	// still written, once the connection has ended: a socket closed with unread
	// bytes is reset, and the reset eats our Close.
	lingerWait = time.Second
)

// Config is shared by many connections and must not change while it is in use.
// The zero Config is the server's role with no limit and no pings.
type Config struct {
	// MaxMessage is the longest message accepted, in bytes over all its
	// fragments (protocol W9). 0 or less accepts any.
	MaxMessage int

	// Ring has a quiet connection pinged at every second beat (protocol W4), the
	// first time at the latest two beats after its last traffic: its period is
	// half the time between pings. Nil for no pings.
	Ring *keepalive.Ring

	// OnPanic is told about every panic that was recovered, with its stack. It
	// may be nil; the Ending carries the panic too. It must not panic.
	OnPanic func(value any, stack []byte)

	// Stacks are what Served connections work on; nil starts a goroutine after each
	// read, to wait for the next.
	Stacks *Stacks

	// Client makes New take the client's role: it masks, and takes no masked
	// frames. Dial has it in any case.
	Client bool

	// TLS is what Dial uses for wss URLs; nil is the default configuration.
	TLS *tls.Config
}

// Conn is one WebSocket. Append, AppendText, Flush, Ping, Close, Cut, Pending,
// Position, Arrived, Drained and SetUserTimeout may be called from any goroutine
// at any time, also after the end, when they do nothing; none of them blocks.
type Conn struct {
	sc  sock.Conn
	cfg *Config

	// Owned by the caller until Serve, by the reading goroutine from then on.

	handler Handler
	run     func()        // loop, made once so that starting it allocates nothing
	early   *codec.Buffer // what the peer sent ahead of Serve, or nil
	in      incoming
	ended   bool        // Handler.Ended was called
	drains  bool        // the connection has ended; what still comes is discarded
	more    bool        // there may be unread bytes behind what is being acted on
	amid    atomic.Bool // it waits within a fragmented message; read by Drained

	entry  keepalive.Entry
	busy   atomic.Bool // something was heard or sent since the last beat
	pinged bool        // at the last beat; owned by the ring's goroutine

	mu sync.Mutex // guards what follows

	out      *codec.Buffer // frames for the next batch; nil when there are none
	pong     *codec.Buffer // payload of the newest ping that out has no answer to
	inflight int           // length of the batch that is being written
	batched  uint64        // length of all batches that there ever were
	ping     bool          // a ping of ours is due
	writing  bool          // a batch is being written; its writer takes the next one too
	shut     bool          // nothing may be queued: our Close is, or the end has come
	awaits   bool          // our Close was first: time the peer's answer once it is written
	fin      bool          // half-close once everything is written
	done     bool          // close TCP once everything is written
}

// New makes a WebSocket of an upgraded connection, which it owns from then on.
// Early is what the peer has sent already; it is copied. The connection must be
// Served, or Cut.
func New(nc net.Conn, early []byte, cfg *Config) *Conn {
	c := new(Conn)
	c.Init(nc, early, cfg)
	return c
}

// Init makes c, which is part of something and was not used before, what New
// returns.
func (c *Conn) Init(nc net.Conn, early []byte, cfg *Config) {
	c.init(nc, early, cfg, cfg.Client)
}

func (c *Conn) init(nc net.Conn, early []byte, cfg *Config, client bool) {
	c.sc.Init(nc)
	c.cfg = cfg
	if len(early) > 0 {
		c.early = codec.GetBuffer(len(early))
		c.early.B = append(c.early.B, early...)
	}
	c.in.client = client
	c.in.within = noFragments
}

// client says that our role is the client's.
func (c *Conn) client() bool { return c.in.client }

// Serve begins reading, in a goroutine of the connection's own, and returns at
// once. Serve or Run is called once.
func (c *Conn) Serve(h Handler) {
	c.begin(h)
	c.run = c.loop
	go c.run()
}

// Run is Serve in the calling goroutine, which returns when the connection is
// over: for one that is expected to be short.
func (c *Conn) Run(h Handler) {
	c.begin(h)
	for c.turn((*Conn).worked) {
	}
}

func (c *Conn) begin(h Handler) {
	c.handler = h
	_, c.in.text = h.(TextHandler)
	if c.cfg.Ring != nil {
		c.entry.Beater = (*pulse)(c)
		c.cfg.Ring.Add(&c.entry)
	}
}

// SetUserTimeout bounds how long what we sent may stay unacknowledged before the
// kernel ends the connection (protocol R5); see sock.Conn.SetUserTimeout.
func (c *Conn) SetUserTimeout(d time.Duration) error { return c.sc.SetUserTimeout(d) }

// pulse is the Conn as its ring sees it.
type pulse Conn

// Beat pings a connection on which nothing has happened since the last beat,
// unless it did so then. Our pings and their pongs do not count as happening.
func (p *pulse) Beat(time.Time) {
	c := (*Conn)(p)
	c.pinged = !c.busy.Swap(false) && !c.pinged
	if c.pinged {
		c.Ping()
	}
}
