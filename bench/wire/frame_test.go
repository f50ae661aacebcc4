package wire

import (
	"bytes"
	"testing"
)

func TestFramesOfEveryLengthComeBack(t *testing.T) {
	for _, n := range []int{0, 1, 125, 126, 65535, 65536, 70_000} {
		payload := bytes.Repeat([]byte("p"), n)
		b := AppendServerFrame(nil, OpBinary, payload)
		for _, cut := range []int{0, 1, 2, len(b) - 1} {
			if _, _, rest, ok := Unframe(b[:min(cut, len(b)-1)]); ok || len(rest) != min(cut, len(b)-1) {
				t.Errorf("%d bytes: a frame was found in the first %d", n, cut)
			}
		}
		op, got, rest, ok := Unframe(append(b, "more"...))
		if !ok || op != OpBinary || !bytes.Equal(got, payload) || string(rest) != "more" {
			t.Errorf("%d bytes: came back as opcode %d with %d bytes, and %q behind", n, op, len(got), rest)
		}
	}
}

func TestAFrameIsMaskedWithItsKey(t *testing.T) {
	b := AppendFrame(nil, OpBinary, []byte("masked"))
	if b[0] != 0x82 || b[1] != 0x80|6 {
		t.Fatalf("the header is % x", b[:2])
	}
	key, payload := b[2:6], b[6:]
	for i := range payload {
		payload[i] ^= key[i%4]
	}
	if string(payload) != "masked" {
		t.Errorf("unmasked it is %q", payload)
	}
}

func TestFramedFindsItsOpcodeBehindOthers(t *testing.T) {
	b := AppendServerFrame(AppendServerFrame(nil, OpPing, nil), OpClose, []byte{3, 232})
	if !Framed(OpClose)(b) || Framed(OpPong)(b) || Framed(OpClose)(b[:len(b)-1]) {
		t.Error("a Close behind a ping is not told from its absence")
	}
}
