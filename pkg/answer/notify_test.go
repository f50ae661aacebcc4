package answer

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

// notifying opens the kind-4 path of a server with this handler.
func notifying(t *testing.T, notify func(context.Context, func([]byte) error) error) (*wstest.Peer, *running) {
	p, line, r := answering(t, handler{notify: notify})
	line.Binary(ask(9, codec.Notifications, ""))
	a := next(t, p.paths)
	if a.req.URL.Path != "/containers/c1/mcp/notifications/9" {
		t.Fatalf("the path is %s", a.req.URL.Path)
	}
	return a.accept(), r
}

func TestN3_OneMessagePerNotificationInOrderThenTheErrorLast(t *testing.T) {
	const many = 500
	path, _ := notifying(t, func(_ context.Context, send func([]byte) error) error {
		for i := range many {
			if err := send(fmt.Appendf(nil, `{"method":"notifications/tools/list_changed","params":{"n":%d}}`, i)); err != nil {
				return err
			}
		}
		return &codec.Error{Code: -32000, Message: "gone"}
	})
	for i := range many {
		want := fmt.Sprintf("\x00"+`{"method":"notifications/tools/list_changed","params":{"n":%d}}`, i)
		if got := string(path.ReadBinary()); got != want {
			t.Fatalf("message %d is %q", i, got)
		}
	}
	if got := string(path.ReadBinary()); got != "\x01"+`{"code":-32000,"message":"gone"}` {
		t.Fatalf("the last message is %q", got)
	}
	if code, _ := path.ReadClose(); code != 1000 {
		t.Fatalf("closed with %d", code)
	}
	path.Close(1000)
}

func TestN3_AHandlerThatHasNoMoreToSayClosesCleanly(t *testing.T) {
	path, _ := notifying(t, func(context.Context, func([]byte) error) error { return nil })
	if code, _ := path.ReadClose(); code != 1000 {
		t.Fatalf("closed with %d", code)
	}
	path.Close(1000)
}

func TestN3_APanicIsTheLastMessage(t *testing.T) {
	path, _ := notifying(t, func(context.Context, func([]byte) error) error { panic("oops") })
	if got := path.ReadBinary(); len(got) == 0 || got[0] != 1 {
		t.Fatalf("the message is %q, want an error", got)
	}
	path.ReadClose()
	path.Close(1000)
}

func TestN4_AnEndedPathEndsTheHandler(t *testing.T) {
	ended := make(chan error, 1)
	path, _ := notifying(t, func(ctx context.Context, send func([]byte) error) error {
		<-ctx.Done()
		ended <- send([]byte(`{"method":"late"}`))
		return ctx.Err()
	})
	path.Close(1000)
	if err := soon(t, ended); !errors.Is(err, ErrPathEnded) {
		t.Fatalf("sending on an ended path: %v", err)
	}
}

func TestANotificationThatIsNoneIsNotSent(t *testing.T) {
	path, r := notifying(t, func(ctx context.Context, send func([]byte) error) error {
		for _, bad := range []string{``, `[]`, `{}`, `{"method":1}`, `{"method":"m","id":1}`, `{"method":"m","params":[]}`} {
			if err := send([]byte(bad)); err == nil || errors.Is(err, ErrPathEnded) {
				t.Errorf("sending %s: %v", bad, err)
			}
		}
		return send([]byte(`{"method":"m"}`))
	})
	if got := string(path.ReadBinary()); got != "\x00"+`{"method":"m"}` {
		t.Fatalf("the message is %q", got)
	}
	path.ReadClose()
	path.Close(1000)
	r.stopped()
	if n := r.Stats().Notifications; n != 1 {
		t.Fatalf("%d notifications counted, want 1", n)
	}
}

func TestSendWaitsForAGatewayThatDoesNotRead(t *testing.T) {
	const each, total = 256 << 10, 32 << 20 // far more than the kernel's buffers hold
	large := append(append([]byte(`{"method":"m","params":{"x":"`), make([]byte, each)...), `"}}`...)
	for i := range large {
		if large[i] == 0 {
			large[i] = 'x'
		}
	}
	sent := make(chan error, 1)
	path, r := notifying(t, func(ctx context.Context, send func([]byte) error) error {
		for range total / each {
			if err := send(large); err != nil {
				sent <- err
				return nil
			}
		}
		sent <- nil
		return nil
	})
	for range total / each {
		if got := path.ReadBinary(); len(got) != len(large)+1 {
			t.Fatalf("a message of %d bytes", len(got))
		}
	}
	if err := soon(t, sent); err != nil {
		t.Fatal(err)
	}
	path.ReadClose()
	path.Close(1000)
	r.stopped()
}
