package main

import (
	"context"
	"errors"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
)

// heard is a TextHandler that passes on what it hears.
type heard struct {
	binary, text chan string
	ended        chan wsock.Ending
}

func (h *heard) Message(b *codec.Buffer) *wsock.Violation {
	h.binary <- string(b.B)
	b.Release()
	return nil
}

func (h *heard) Text(b *codec.Buffer) *wsock.Violation {
	h.text <- string(b.B)
	b.Release()
	return nil
}

func (h *heard) Ended(e wsock.Ending) { h.ended <- e }

func TestTheEchoServerEchoesTextAsTextAndRefusesWhatIsNoUTF8(t *testing.T) {
	onPanic := func(v any, stack []byte) { t.Errorf("panic: %v\n%s", v, stack) }
	server, err := listen(t.Context(), onPanic)
	if err != nil {
		t.Fatal(err)
	}
	defer server.stop()
	c, err := wsock.Dial(t.Context(), server.url(), nil, &wsock.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h := &heard{make(chan string, 1), make(chan string, 1), make(chan wsock.Ending, 1)}
	c.Serve(h)
	c.AppendText([]byte("Grüße"))
	c.Flush()
	if got := <-h.text; got != "Grüße" {
		t.Errorf("text: %q", got)
	}
	c.Append(nil, []byte{0xff})
	c.Flush()
	if got := <-h.binary; got != "\xff" {
		t.Errorf("binary: %q", got)
	}
	c.AppendText([]byte{0xff})
	c.Flush()
	if e := <-h.ended; !e.Clean || e.Code != 1007 {
		t.Errorf("ended with %+v", e)
	}
}

func TestTheEchoServerStopsWithConnectionsOpen(t *testing.T) {
	server, err := listen(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := wsock.Dial(t.Context(), server.url(), nil, &wsock.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h := &heard{ended: make(chan wsock.Ending, 1)}
	c.Serve(h)
	server.stop()
	if e := <-h.ended; e.Clean {
		t.Errorf("ended with %+v", e)
	}
}

func TestACaseThatDoesNotEndIsCutShort(t *testing.T) {
	server, err := listen(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.stop()
	c, err := wsock.Dial(t.Context(), server.url(), nil, &wsock.Config{})
	if err != nil {
		t.Fatal(err)
	}
	e := newEcho(c)
	c.Serve(e)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := over(ctx, c, e.ended); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
