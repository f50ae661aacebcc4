package stream

import (
	"fmt"
	"log/slog"
	"time"
)

// What a zero field of Config stands for.
const (
	DefaultMessages = 256
	DefaultBytes    = 1 << 20
	DefaultStall    = 30 * time.Second
)

// Config is what streams have in common. Many hubs share one; nobody changes it
// once it is given to a hub.
type Config struct {
	// Messages bounds what waits on one stream, the message that is being written
	// included. Zero: DefaultMessages.
	Messages int
	// Bytes bounds the same in bytes. No larger message can be sent. Zero:
	// DefaultBytes.
	Bytes int
	// Stall is how long a connection may take nothing while something waits.
	// Zero: DefaultStall.
	Stall time.Duration
	// Counters are kept for all streams together. Nil: nobody looks at them.
	Counters *Counters
	// Panicked is told about a panic in a goroutine of this package, thus in a
	// Conn or a close callback; the stream is closed. Nil logs to slog.Default.
	Panicked func(value any, stack []byte)
}

// Check returns an error that names the first field without a meaning.
func (c *Config) Check() error {
	switch {
	case c.Messages < 0:
		return fmt.Errorf("stream: Messages is %d; give a positive number, or 0 for %d", c.Messages, DefaultMessages)
	case c.Bytes < 0:
		return fmt.Errorf("stream: Bytes is %d; give a positive number, or 0 for %d", c.Bytes, DefaultBytes)
	case c.Stall < 0:
		return fmt.Errorf("stream: Stall is %v; give a positive duration, or 0 for %v", c.Stall, DefaultStall)
	}
	return nil
}

func (c *Config) messages() int {
	if c.Messages == 0 {
		return DefaultMessages
	}
	return c.Messages
}

func (c *Config) bytes() int {
	if c.Bytes == 0 {
		return DefaultBytes
	}
	return c.Bytes
}

// fit reports whether messages, whose bytes are these, may be written at once: one
// that could wait on a stream on which nothing else does, or as many as leave half
// of the room to what comes meanwhile.
func (c *Config) fit(all []Message, bytes []byte) bool {
	fit := len(bytes) <= c.bytes() && len(all) == 1 || len(all) <= c.messages()/2 && len(bytes) <= c.bytes()/2
	for i := range all {
		fit = fit && len(all[i].Bytes) > 0
	}
	return fit
}

func (c *Config) stall() time.Duration {
	if c.Stall == 0 {
		return DefaultStall
	}
	return c.Stall
}

var unwatched Counters

func (c *Config) counters() *Counters {
	if c.Counters == nil {
		return &unwatched
	}
	return c.Counters
}

func (c *Config) panicked(value any, stack []byte) {
	if c.Panicked != nil {
		c.Panicked(value, stack)
		return
	}
	slog.Error("a stream panicked", "panic", value, "stack", string(stack))
}
