package wsock

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// The peer, by the time it can read our Close, must find the exchange settled.
func TestW6_TheHandlerHearsOfTheEndBeforeThePeerHearsOurClose(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p := pair(t, cfg)
		r := newRecorder()
		r.onEnded = func(Ending) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.shut || c.out != nil {
				t.Error("our Close was queued before Ended returned")
			}
		}
		c.Serve(r)
		p.Binary([]byte("answer"))
		p.Close(1000)
		same(t, r.message(t), []byte("answer"))
		r.clean(t, 1000)
		if code, _ := p.ReadClose(); code != 1000 {
			t.Fatalf("Close answered with %d", code)
		}
		if cfg.Client {
			p.FIN()
		}
		p.ReadEOF()
	})
}

func TestW6_MessageAndCloseInOneSegment(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		_, p, r := served(t, cfg)
		p.BinaryAndClose([]byte("answer"))
		same(t, r.message(t), []byte("answer"))
		r.clean(t, 1000)
		p.ReadClose()
	})
}

func TestW6_CloseThenResetIsClean(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		for i := range 200 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				c, p, r := served(t, cfg)
				if i%2 == 0 {
					p.Ping(pattern(100)) // our pong may meet the reset, too
				}
				c.Append(nil, pattern(i*100))
				c.Flush()
				p.Binary([]byte("answer"))
				p.CloseThenReset(1000)
				same(t, r.message(t), []byte("answer"))
				r.clean(t, 1000)
			})
		}
	})
}

// The same when we first learn of it from a write that fails.
func TestW6_AFailedWriteDoesNotHideAClose(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p := pair(t, cfg)
		p.Binary([]byte("answer"))
		p.CloseThenReset(1000)
		until(t, "a failed write", func() bool {
			c.Append(nil, []byte("an ask"))
			c.Flush()
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.shut
		})
		r := newRecorder()
		c.Serve(r)
		same(t, r.message(t), []byte("answer"))
		r.clean(t, 1000)
	})
}

func TestW6_CloseBetweenFragmentsIsCleanWithoutAMessage(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		_, p, r := served(t, cfg)
		p.Send(wstest.Frame{Op: wstest.OpBinary, Payload: []byte("half an")})
		p.Close(1000)
		r.clean(t, 1000)
		p.ReadClose()
	})
}

func TestW6_EveryWholeCloseIsClean(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		tests := []struct {
			body   []byte
			code   uint16
			answer int
		}{
			{nil, NoStatus, 0},
			{[]byte{3}, NoStatus, 1002},
			{wstest.CloseBody(1000, ""), 1000, 1000},
			{wstest.CloseBody(1001, "going away"), 1001, 1001},
			{wstest.CloseBody(1011, strings.Repeat("r", 123)), 1011, 1011},
			{wstest.CloseBody(1014, ""), 1014, 1014},
			{wstest.CloseBody(3000, ""), 3000, 3000},
			{wstest.CloseBody(4999, ""), 4999, 4999},
			{wstest.CloseBody(1000, "\xff"), 1000, 1007},
		}
		for _, code := range []int{0, 999, 1004, 1005, 1006, 1015, 1016, 2000, 2999, 5000, 65535} {
			tests = append(tests, struct {
				body   []byte
				code   uint16
				answer int
			}{wstest.CloseBody(code, ""), NoStatus, 1002})
		}
		for _, tt := range tests {
			_, p, r := served(t, cfg)
			p.CloseBody(tt.body)
			r.clean(t, tt.code)
			if code, _ := p.ReadClose(); code != tt.answer {
				t.Errorf("Close %s answered with %d, wanted %d", hex(tt.body), code, tt.answer)
			}
		}
	})
}

func TestW6_NothingFollowsAClose(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p, r := served(t, cfg)
		p.Send(wstest.Frame{Fin: true, Op: wstest.OpClose, Payload: wstest.CloseBody(1000, "")},
			wstest.Frame{Fin: true, Op: wstest.OpBinary, Payload: []byte("too late")},
			wstest.Frame{Fin: true, Op: wstest.OpPing})
		r.clean(t, 1000)
		c.Append(nil, []byte("too late"))
		c.Flush()
		c.Ping()
		c.Close(1001, "too late")
		if code, _ := p.ReadClose(); code != 1000 {
			t.Fatalf("Close answered with %d", code)
		}
		if cfg.Client {
			p.FIN()
		}
		p.ReadEOF()
	})
}

func TestW6_EndsWithoutACloseAreAbrupt(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		frame := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpClose, Masked: !cfg.Client, Payload: wstest.CloseBody(1000, "")})
		t.Run("end of stream", func(t *testing.T) {
			_, p, r := served(t, cfg)
			p.Binary([]byte("answer"))
			p.FIN()
			same(t, r.message(t), []byte("answer"))
			if e := r.abrupt(t, 0); e.Cause != io.EOF {
				t.Fatalf("cause %v", e.Cause)
			}
			p.ReadEOF()
		})
		t.Run("reset", func(t *testing.T) {
			_, p, r := served(t, cfg)
			p.Reset()
			if e := r.abrupt(t, 0); !errors.Is(e.Cause, syscall.ECONNRESET) {
				t.Fatalf("cause %v", e.Cause)
			}
		})
		for cut := range frame {
			_, p, r := served(t, cfg)
			p.Raw(frame[:cut])
			p.FIN()
			r.abrupt(t, 0)
		}
		t.Run("cut", func(t *testing.T) {
			c, p, r := served(t, cfg)
			c.Cut()
			if e := r.abrupt(t, 0); !errors.Is(e.Cause, net.ErrClosed) {
				t.Fatalf("cause %v", e.Cause)
			}
			p.ReadEOF()
		})
	})
}

// A peer that ended its half, and reads nothing, holds no goroutine of ours.
func TestW6_AnAbruptEndEndsTheWriteUnderWay(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p, r := served(t, cfg)
		c.Append(nil, make([]byte, 32<<20))
		c.Flush()
		p.FIN()
		r.abrupt(t, 0)
		until(t, "the writer's end", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return !c.writing
		})
	})
}

// A peer that takes its time with what we sent before still gets our Close.
func TestW6_OurAnswerToACloseFollowsWhatIsQueued(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p, r := served(t, cfg)
		big := pattern(6 << 20)
		c.Append(nil, big)
		c.Flush()
		p.Close(1000)
		r.clean(t, 1000)
		same(t, p.ReadBinary(), big)
		p.ReadClose()
		if !cfg.Client {
			p.ReadEOF()
		}
	})
}

func TestAReasonIsCutBetweenCharacters(t *testing.T) {
	for _, reason := range []string{"", "short", strings.Repeat("a", 200), strings.Repeat("é", 100), "a" + strings.Repeat("é", 100), strings.Repeat("😀", 50)} {
		body := appendCloseBody(nil, 1000, reason)
		if len(body) > maxControl || !utf8.Valid(body[2:]) || !strings.HasPrefix(reason, string(body[2:])) {
			t.Errorf("reason %q became %q", reason, body[2:])
		}
		if len(reason) > maxReason && len(body) < maxControl-3 {
			t.Errorf("reason %q was cut to %d bytes", reason, len(body))
		}
	}
}

// A socket that is closed with bytes unread is reset, and what it had to say is
// lost.
func TestW6_OurAnswerReachesAPeerThatSendsOnBehindItsClose(t *testing.T) {
	for _, behind := range []int{1, 1 << 10, 4096, 100 << 10, 4 << 20} {
		c, p, r := served(t, &Config{})
		closing := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: true, Payload: []byte("answer")})
		closing = wstest.AppendFrame(closing, wstest.Frame{Fin: true, Op: wstest.OpClose, Masked: true, Payload: wstest.CloseBody(1000, "")})
		p.Raw(append(closing, make([]byte, behind)...))
		same(t, r.message(t), []byte("answer"))
		if e := r.ending(t); !e.Clean || !e.Lingers {
			t.Errorf("%d bytes behind the Close: ended with %+v", behind, e)
		}
		if code, _ := p.ReadClose(); code != 1000 {
			t.Errorf("%d bytes behind the Close: answered with %d", behind, code)
		}
		p.ReadEOF()
		p.FIN()
		until(t, "the end of our side", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.done && !c.writing
		})
	}
}
