package mux

import (
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/diverge-network/gateway/pkg/codec"
)

// Never as Config.ReaskAfter keeps to the letter of protocol A5: an exchange
// whose path broke is asked again on the next /requests connection only.
const Never time.Duration = -1

// A table that grows stalls its writers, so both begin large: 64 bytes per five rows.
const (
	presizedChannels   = 32768
	presizedContainers = 8192
)

// Sink hears the notifications of one container.
type Sink interface {
	// Notify is called with every notification of the container, in the order
	// in which they arrived on one path. n is borrowed until it returns. It
	// must not block: the path's reader waits for it.
	Notify(n codec.Notification)
}

// BatchSink is a Sink that takes notifications which came together at once.
type BatchSink interface {
	Sink
	// NotifyAll is Notify for each of them, in order.
	NotifyAll(all []codec.Notification)
}

// Forgetter is a Sink that wants to know when its container is forgotten
// (protocol G5).
type Forgetter interface {
	// Forgotten is called once, after everything else, and before a container of
	// the same id can begin. It must not block and must not call back.
	Forgotten()
}

// Config is read once, by New.
type Config struct {
	// ReaskAfter is how long after its path broke an exchange is asked again on
	// the same /requests connection (protocol A5). It doubles with each time on
	// one connection, of which there are at most three (protocol N4 begins to
	// count anew). 0 asks again at once;
	// Never, or any other negative value, waits for the next connection.
	ReaskAfter time.Duration
	// Clock measures ReaskAfter. nil is the time of package time.
	Clock Clock
	// FirstChannel chooses the first channel of a container (protocol R2).
	// nil is a random one in 1 to 2^31; 0 is taken as 1. It must not call back.
	FirstChannel func() uint32
	// NewSink makes the listener for a container's notifications, exactly once
	// per container, before anyone else can see it. nil: nobody listens, and
	// notifications are counted as unheard. It must not call back.
	NewSink func(container string) Sink
	// Idle is how long a container may do nothing before Sweep reports it gone
	// (protocol G6) or forgets it (G5). 0 or less: for ever.
	Idle time.Duration
	// Now is the time that Idle is measured in, and how long a notifications path
	// was open (protocol N4). nil is time.Now.
	Now func() time.Time
}

// Mux holds any number of containers. All methods may be called concurrently.
type Mux struct {
	config     Config
	began      time.Time
	channels   channelTable
	containers *xsync.MapOf[string, *Container]
	// stopped is set before Stop visits the containers, and read under each
	// container's lock: an ask is either seen by the visit or sees the flag.
	stopped atomic.Bool

	_        [64]byte // what every call reads is on no cache line that every call writes
	counters counters
	_        [64]byte

	beginning sync.Mutex
	serial    uint32 // of the container that began last; guarded by beginning
	presence  presence
}

// New returns a Mux without containers.
func New(config Config) *Mux {
	return newMux(config, presizedChannels, presizedContainers)
}

func newMux(config Config, channels, containers int) *Mux {
	if config.Clock == nil {
		config.Clock = systemClock{}
	}
	if config.FirstChannel == nil {
		config.FirstChannel = func() uint32 { return 1 + rand.Uint32N(1<<31) }
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Mux{
		config:     config,
		began:      config.Now(),
		channels:   newChannelTable(channels),
		containers: xsync.NewMapOf[string, *Container](xsync.WithPresize(containers), xsync.WithGrowOnly()),
	}
}

// now is the time since the mux was made.
func (m *Mux) now() time.Duration { return m.config.Now().Sub(m.began) }

// Container returns the container of that id, which begins now if there is none
// (protocol G5). The id must satisfy ValidID; it is copied when kept. Where
// containers are forgotten, who wants to keep one uses Enter.
func (m *Mux) Container(id string) *Container {
	if c := m.Lookup(id); c != nil {
		return c
	}
	return m.begin(id)
}

// begin is Container, except that it waits for one that is being forgotten to be
// out of the table.
func (m *Mux) begin(id string) *Container {
	m.beginning.Lock()
	defer m.beginning.Unlock()
	if c := m.Lookup(id); c != nil {
		return c
	}
	c := &Container{mux: m, id: strings.Clone(id), serial: m.serial + 1, restedAt: m.now()}
	c.nextChannel = max(1, m.config.FirstChannel())
	if m.config.NewSink != nil {
		c.sink = m.config.NewSink(c.id)
	}
	c.resident.container, c.resident.kind = c, codec.Notifications
	m.serial = c.serial
	m.containers.Store(c.id, c)
	return c
}

// Lookup returns the container of that id, or nil if there is none. It takes no
// lock and does not keep the id.
func (m *Mux) Lookup(id string) *Container {
	c, _ := m.containers.Load(id)
	return c
}

// Stop settles every ask with Stopped and leaves no timer behind; asks made
// later are settled with Stopped at once. It closes no connection and no path:
// their ends, which the sockets' owners go on reporting, change nothing any more.
func (m *Mux) Stop() {
	m.stopped.Store(true)
	m.containers.Range(func(_ string, c *Container) bool {
		for _, owed := range c.stop() {
			owed.caller.Settle(Settlement{Outcome: Stopped, Announced: owed.announced})
		}
		return true
	})
}
