package ops

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestLimitsAreShownWithWhatIsUsedOfThem(t *testing.T) {
	used := int64(0)
	o := New(Config{Limits: []Limit{{"max-asks", 256}, {"max-streams", 8}}, Used: func() map[string]int64 { return map[string]int64{"max-asks": used} }})
	used = 7
	for _, want := range []struct {
		metric, limit string
		n             float64
	}{
		{"gateway_limit", "max-asks", 256}, {"gateway_limit", "max-streams", 8},
		{"gateway_limit_used", "max-asks", 7}, {"gateway_limit_used", "max-streams", 0},
	} {
		if got := value(t, o, want.metric, "limit", want.limit); got != want.n {
			t.Errorf("%s of %s = %g, want %g", want.metric, want.limit, got, want.n)
		}
	}
}

// TestALimitThatBeginsToRefuseIsWarnedOfOnce also has other reasons be no limits.
func TestALimitThatBeginsToRefuseIsWarnedOfOnce(t *testing.T) {
	var log bytes.Buffer
	o := New(Config{Limits: []Limit{{"max-asks", 256}, {"max-streams", 8}}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 1000 {
		o.Refused("inside", "max-asks")
		o.Refused("inside", "origin")
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 1 {
		t.Fatalf("%d lines:\n%s", len(lines), log.String())
	}
	for _, part := range []string{"level=WARN", "limit=--max-asks", "value=256", "listener=inside"} {
		if !strings.Contains(lines[0], part) {
			t.Errorf("%q is not in %s", part, lines[0])
		}
	}
	o.Refused("inside", "max-streams")
	if n := strings.Count(log.String(), "\n"); n != 2 {
		t.Errorf("%d lines after another limit was reached", n)
	}
	for range 1000 {
		o.MadeRoom("max-asks")
		o.MadeRoom("whim")
	}
	if n := strings.Count(log.String(), "makes room"); n != 1 || strings.Count(log.String(), "\n") != 3 {
		t.Errorf("%d lines say that room is made:\n%s", n, log.String())
	}
}

func TestALimitIsNewsAgainAfterAQuietTime(t *testing.T) {
	a, now := &alarm{}, time.Unix(1_800_000_000, 0)
	for _, step := range []struct {
		pass   time.Duration
		begins bool
	}{{0, true}, {0, false}, {quiet - 1, false}, {quiet - 1, false}, {quiet, true}, {1, false}} {
		now = now.Add(step.pass)
		if got := a.begins(now); got != step.begins {
			t.Errorf("%v after the one before: begins %v", step.pass, got)
		}
	}
}
