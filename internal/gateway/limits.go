package gateway

import (
	"log/slog"
	"math"
	"net"
	"strconv"
	"time"

	"github.com/diverge-network/gateway/internal/limit"
	"github.com/diverge-network/gateway/internal/ops"
)

// Limits are those of what the gateway holds in memory, and of how fast it is
// connected to.
type Limits struct {
	// MaxBuffered and MaxBufferedTotal are the most bytes that may be held for the
	// requests and answers of one container, and of all. 0 is any number of the first,
	// and of the second half of what is Available.
	MaxBuffered, MaxBufferedTotal int64
	// MaxConnectionsPerSecond is how many connections one address may make in a
	// second, to Outside and to Inside each; 0 is any number.
	MaxConnectionsPerSecond int
	// SocketStall is how long a server may take nothing of a /requests socket, or of
	// a list of containers, while something is queued for it.
	SocketStall time.Duration
	// Memory is the limit of the process's memory in bytes, as the runtime has it;
	// near to it nothing new is begun. 0: none.
	Memory int64
	// Available is the memory that there is for the process, in bytes; 0: nobody
	// knows.
	Available int64
}

// Total is the most bytes that may be held for all containers; 0 is any number.
func (l *Limits) Total() int64 {
	if l.MaxBufferedTotal != 0 {
		return l.MaxBufferedTotal
	}
	return l.Available / 2
}

// The longest SocketStall: the kernel ends a connection whose peer takes nothing
// for a minute (sock.UserTimeout).
const maxSocketStall = time.Minute

// maxConnectionRate is so many that a bound has no meaning.
const maxConnectionRate = 1_000_000

// maxUncounted is the most bytes of small messages, which are not counted, that may
// wait on one /requests socket beside those that are.
const maxUncounted = 32 << 20

func defaultLimits() Limits {
	return Limits{MaxBuffered: 256 << 20, MaxConnectionsPerSecond: 1000, SocketStall: 30 * time.Second}
}

// validate reports the first limit that cannot be meant.
func (l *Limits) validate(maxMessage int) error {
	for _, bytes := range []struct {
		flag  string
		value int64
	}{{limit.FlagBuffered, l.MaxBuffered}, {limit.FlagBufferedTotal, l.MaxBufferedTotal}} {
		// While it grows a message takes half as much again.
		if bytes.value != 0 && bytes.value < 2*int64(maxMessage) {
			return &ConfigError{Flag: bytes.flag, Value: strconv.FormatInt(bytes.value, 10),
				Problem: "is less than twice --max-message, so that a request and its answer would not fit: raise it, or lower --max-message"}
		}
	}
	if l.MaxConnectionsPerSecond < 0 || l.MaxConnectionsPerSecond > maxConnectionRate {
		return &ConfigError{Flag: limit.FlagRate, Value: strconv.Itoa(l.MaxConnectionsPerSecond),
			Problem: "is out of range: 1 to " + strconv.Itoa(maxConnectionRate) + ", or 0 for any number"}
	}
	if l.SocketStall < minInterval || l.SocketStall > maxSocketStall {
		return &ConfigError{Flag: "--socket-stall", Value: l.SocketStall.String(),
			Problem: "is out of range: " + minInterval.String() + " to " + maxSocketStall.String() + ", at which the kernel ends such connections"}
	}
	if l.Memory < 0 {
		return &ConfigError{Flag: "GOMEMLIMIT", Value: strconv.FormatInt(l.Memory, 10), Problem: "is negative"}
	}
	return nil
}

// keepers are what keeps to the limits.
type keepers struct {
	limits  Limits
	budget  *limit.Budget
	memory  *limit.Memory // nil: there is no limit
	stalled *limit.Alarm
	rate    *limit.Alarm
}

func newKeepers(limits Limits, log *slog.Logger) keepers {
	k := keepers{
		limits:  limits,
		budget:  limit.NewBudget(limits.MaxBuffered, limits.Total(), log),
		stalled: limit.NewAlarm(log, "sockets of servers that took nothing are closed, and what was asked on them waits for the next", "limit", "--socket-stall", "after", limits.SocketStall),
		rate:    limit.NewAlarm(log, "connections are refused: their address makes too many a second", "limit", limit.FlagRate, "most", limits.MaxConnectionsPerSecond),
	}
	if limits.Memory > 0 {
		k.memory = limit.NewMemory(limits.Memory, log)
	}
	return k
}

// maxQueued is the most bytes that may be queued on one /requests socket.
func (k *keepers) maxQueued() int {
	if k.limits.MaxBuffered == 0 {
		return 0
	}
	return int(min(k.limits.MaxBuffered+maxUncounted, math.MaxInt))
}

// tooManyConnections is the response to a connection that is refused before it was
// read.
const tooManyConnections = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: "

// reasonConnectionRate is why such a connection was refused, in metrics.
const reasonConnectionRate = "connection-rate"

func (k *keepers) tooManyConnections() []byte {
	body := `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"too many new connections from this address (` +
		limit.FlagRate + `): try again","data":{"reason":"` + reasonConnectionRate + `","limit":` +
		strconv.Itoa(k.limits.MaxConnectionsPerSecond) + "}}}\n"
	return []byte(tooManyConnections + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

// admitting is ln without the connections that come too fast. Nobody else reaches a
// listener on loopback.
func (k *keepers) admitting(ln net.Listener, refused func()) net.Listener {
	if k.limits.MaxConnectionsPerSecond == 0 || onLoopback(ln) {
		return ln
	}
	return limit.Listen(ln, limit.NewRate(k.limits.MaxConnectionsPerSecond, k.rate), k.tooManyConnections(), refused)
}

// watched are the limits as the metrics show them.
func (k *keepers) watched() []ops.Limit {
	constant := func(n float64) func() float64 { return func() float64 { return n } }
	counted := func(read func() (int64, uint64)) func() uint64 {
		return func() uint64 { _, hits := read(); return hits }
	}
	memory := ops.Limit{Name: "memory", Most: constant(float64(k.limits.Memory)), Hits: func() uint64 { return 0 },
		Used: func() float64 { return float64(limit.InUse()) }}
	if k.memory != nil {
		memory.Hits = counted(k.memory.Limit)
	}
	return []ops.Limit{
		{Name: "buffered", Most: constant(float64(k.limits.MaxBuffered)), Hits: counted(k.budget.Container),
			Used: func() float64 { return float64(k.budget.Fullest()) }},
		{Name: "buffered-total", Most: constant(float64(k.limits.Total())), Hits: counted(k.budget.Total),
			Used: func() float64 { return float64(k.budget.Used()) }},
		memory,
		{Name: reasonConnectionRate, Most: constant(float64(k.limits.MaxConnectionsPerSecond)), Hits: k.rate.Hits},
		{Name: "socket-stall", Most: constant(k.limits.SocketStall.Seconds()), Hits: k.stalled.Hits},
	}
}
