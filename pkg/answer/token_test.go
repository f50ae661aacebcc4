package answer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
)

func TestG7_ARefusedTokenIsSaidAndTriedAgainSlowly(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			d := &dials{begun: time.Now(), next: func(_ string, attempt int) (socket, error) {
				if attempt <= 3 {
					return nil, &wsock.RefusedError{Status: status, Reason: "the token has expired"}
				}
				return &fakeSocket{}, nil
			}}
			s := &Server{Gateway: "ws://gateway", Handler: fixed(`{}`, nil), dial: d.dial, jitter: func() float64 { return 0.5 },
				Logger: slog.New(slog.NewTextHandler(&log, nil))}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- s.Run(ctx) }()
			pass(time.Minute)
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			var at []time.Duration
			for _, one := range d.log {
				at = append(at, one.at)
			}
			if want := []time.Duration{0, 10 * time.Second, 20 * time.Second, 30 * time.Second}; !slices.Equal(at, want) {
				t.Errorf("%d: attempts at %v, want %v", status, at, want)
			}
			if text := log.String(); !strings.Contains(text, "--token-file") || !strings.Contains(text, "the token has expired") || strings.Count(text, "level=WARN") != 1 {
				t.Errorf("%d: said %s", status, text)
			}
		})
	}
}

func TestG7_AListThatIsRefusedForItsTokenIsAskedForAgainSlowly(t *testing.T) {
	inWorld(t, &Fleet{}, func(w *world) {
		w.set(func() { w.noList = deniedError{errors.New("refused")} })
		w.list.Close()
		pass(25 * time.Second)
		if want := []time.Duration{0, 50 * time.Millisecond, 10050 * time.Millisecond, 20050 * time.Millisecond}; !slices.Equal(w.lists, want) {
			t.Errorf("asked at %v, want %v", w.lists, want)
		}
	})
}

func TestG7_EachUpgradeHasTheTokenOfItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		line := &fakeSocket{}
		asked := 0
		base := http.Header{"X": {"y"}}
		s := &Server{Gateway: "ws://gateway", Container: "a", Handler: fixed(`{}`, nil), Logger: quiet, Header: base,
			Token: func(context.Context) (string, error) {
				if asked++; asked == 1 {
					return "", errors.New("no such file")
				}
				return fmt.Sprint("t", asked), nil
			},
			dial: func(_ context.Context, url string, header http.Header, _ *wsock.Config) (socket, error) {
				heard = append(heard, header.Get("Authorization")+" "+header.Get("X"))
				if strings.HasSuffix(url, "/requests") {
					return line, nil
				}
				return &fakeSocket{}, nil
			}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		pass(time.Second)
		line.message(ask(1, codec.CallTool, `{}`))
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if want := []string{"Bearer t2 y", "Bearer t3 y"}; !slices.Equal(heard, want) {
			t.Errorf("%q, want %q", heard, want)
		}
		if len(base) != 1 {
			t.Errorf("the Server's own header became %v", base)
		}
	})
}
