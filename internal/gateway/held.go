package gateway

import (
	"log/slog"
	"math"
	"net"
	"strconv"
	"time"

	"github.com/diverge-network/gateway/internal/limit"
	"github.com/diverge-network/gateway/internal/ops"
	"github.com/diverge-network/gateway/internal/outside"
)

// Held bounds what is held in memory.
type Held struct {
	// PerContainer and Total are the most bytes that may be held for the requests and
	// answers of one container, and of all. 0 is any number of the first, and of the
	// second half of what is Available.
	PerContainer, Total int64
	// Memory is the limit of the process's memory in bytes, as the runtime has it;
	// near to it nothing new is begun. 0: none.
	Memory int64
	// Available is the memory that there is for the process, in bytes; 0: nobody
	// knows.
	Available int64
}

// All is the most bytes that may be held for all containers; 0 is any number.
func (h *Held) All() int64 {
	if h.Total != 0 {
		return h.Total
	}
	return h.Available / 2
}

const (
	defaultHeld           = 256 << 20 // bytes per container
	defaultConnectionRate = 1000      // a second, of one address
	defaultSocketStall    = 30 * time.Second

	// maxSocketStall is when the kernel ends a connection whose peer takes nothing
	// (sock.UserTimeout).
	maxSocketStall = time.Minute

	// maxConnectionRate is so many that a bound has no meaning.
	maxConnectionRate = 1_000_000

	// maxUncounted is the most bytes of small messages, which are not counted, that
	// may wait on one /requests socket beside those that are.
	maxUncounted = 32 << 20
)

// validateHeld reports the first limit of what is held, or of connections, that
// cannot be meant.
func (c *Config) validateHeld() error {
	for _, bytes := range []struct {
		name  string
		value int64
	}{{limit.Buffered, c.Held.PerContainer}, {limit.BufferedTotal, c.Held.Total}} {
		if bytes.value != 0 && bytes.value < 2*int64(c.MaxMessage) {
			return &ConfigError{Flag: "--" + bytes.name, Value: strconv.FormatInt(bytes.value, 10),
				Problem: "is less than twice --max-message, so that a request and its answer would not fit: raise it, or lower --max-message"}
		}
	}
	if c.MaxConnectionsPerSecond < 0 || c.MaxConnectionsPerSecond > maxConnectionRate {
		return &ConfigError{Flag: "--" + limit.ConnectionsPerSecond, Value: strconv.Itoa(c.MaxConnectionsPerSecond),
			Problem: "is out of range: 1 to " + strconv.Itoa(maxConnectionRate) + ", or 0 for any number"}
	}
	if c.SocketStall < minInterval || c.SocketStall > maxSocketStall {
		return &ConfigError{Flag: "--socket-stall", Value: c.SocketStall.String(),
			Problem: "is out of range: " + minInterval.String() + " to " + maxSocketStall.String() + ", at which the kernel ends such connections"}
	}
	return nil
}

// holding is what keeps to the limits of what is held, and of connections.
type holding struct {
	config *Config
	budget *limit.Budget
	memory *limit.Memory // nil: there is no limit
}

func newHolding(c *Config, log *slog.Logger) holding {
	h := holding{config: c, budget: limit.NewBudget(c.Held.PerContainer, c.Held.All())}
	if c.Held.Memory > 0 {
		h.memory = limit.NewMemory(c.Held.Memory, log)
	}
	return h
}

// maxQueued is the most bytes that may wait on one /requests socket: what waits
// there is a copy of what is held.
func (h *holding) maxQueued() int {
	if h.config.Held.PerContainer == 0 {
		return 0
	}
	return int(min(h.config.Held.PerContainer+maxUncounted, math.MaxInt))
}

// admitting is ln without the connections that come too fast, which are answered in
// the clear unless secure. Nobody else reaches a listener on loopback.
func (h *holding) admitting(ln net.Listener, secure bool, refused func()) net.Listener {
	most := h.config.MaxConnectionsPerSecond
	if most == 0 || onLoopback(ln) {
		return ln
	}
	var response []byte
	if !secure {
		response = tooManyConnections(most)
	}
	return limit.Listen(ln, limit.NewRate(most), response, refused)
}

// tooManyConnections is the response to a connection that is refused before it was
// read.
func tooManyConnections(most int) []byte {
	body := `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"too many new connections of this address: try again: the limit is ` +
		strconv.Itoa(most) + ` a second (--` + limit.ConnectionsPerSecond + `)","data":{"reason":"` + limit.ConnectionsPerSecond +
		`","limit":` + strconv.Itoa(most) + "}}}"
	return []byte("HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\n" +
		"Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

// limitMemory names the limit of the process's memory in metrics: it has no flag.
const limitMemory = "memory"

func (h *holding) shown() []ops.Limit {
	return []ops.Limit{
		{Name: limit.Buffered, Most: h.config.Held.PerContainer},
		{Name: limit.BufferedTotal, Most: h.config.Held.All()},
		{Name: limitMemory, Most: h.config.Held.Memory},
		{Name: limit.ConnectionsPerSecond, Most: int64(h.config.MaxConnectionsPerSecond)},
		{Name: string(outside.ReasonStall), Most: int64(h.config.SocketStall / time.Second)},
	}
}

// used is how far those are used up that are, by name.
func (h *holding) used() map[string]int64 {
	return map[string]int64{
		limit.Buffered:      h.budget.Fullest(),
		limit.BufferedTotal: h.budget.Used(),
		limitMemory:         limit.InUse(),
	}
}
