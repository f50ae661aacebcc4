package codec

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"testing"
)

func fromHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestR1_GoldenAsks(t *testing.T) {
	f := func(channel uint32, k Kind, params, golden string) {
		t.Helper()
		payload, err := k.Payload([]byte(params))
		if err != nil {
			t.Fatal(err)
		}
		want := fromHex(t, golden)
		if got := AppendAsk(nil, channel, k, payload); !bytes.Equal(got, want) {
			t.Errorf("frame %x, want %x", got, want)
		}
		if got := append(AppendAskHeader(nil, channel, k), payload...); !bytes.Equal(got, want) {
			t.Errorf("header and payload %x, want %x", got, want)
		}
		a, err := DecodeAsk(want)
		if err != nil || a.Channel != channel || a.Kind != k || !bytes.Equal(a.Payload, payload) {
			t.Errorf("DecodeAsk(%x) = %+v, %v", want, a, err)
		}
	}
	f(1, ListTools, "", "00000001006e756c6c")
	f(258, CallTool, `{"name":"t"}`, "00000102027b226e616d65223a2274227d")
	f(math.MaxUint32, Notifications, "", "ffffffff04")
}

func TestR1_AskAppendsBehindWhatIsThere(t *testing.T) {
	got := AppendAsk([]byte("x"), 2, ReadResource, []byte("{}"))
	if want := []byte("x\x00\x00\x00\x02\x03{}"); !bytes.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestD3_PayloadOfNotificationsIsIgnored(t *testing.T) {
	a, err := DecodeAsk([]byte("\x00\x00\x00\x07\x04\xff{not json"))
	if err != nil || a.Channel != 7 || a.Kind != Notifications || a.Payload != nil {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestD4_TruncatedAsk(t *testing.T) {
	whole := AppendAsk(nil, 1, CallTool, nil)
	for n := range whole {
		if _, err := DecodeAsk(whole[:n]); !errors.Is(err, ErrTruncated) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := DecodeAsk(whole); err != nil {
		t.Errorf("%d bytes: %v", len(whole), err)
	}
}

func TestD4_UnknownKind(t *testing.T) {
	for n := KindCount; n <= math.MaxUint8; n++ {
		_, err := DecodeAsk([]byte{0, 0, 0, 1, byte(n)})
		if unknown, ok := errors.AsType[*UnknownKindError](err); !ok || unknown.Kind != Kind(n) {
			t.Errorf("kind %d: %v", n, err)
		}
	}
}
