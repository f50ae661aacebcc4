package wstest

import (
	"bufio"
	"bytes"
	"io"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The examples of RFC 6455, 5.7.
func TestFramesAreThoseOfTheRFC(t *testing.T) {
	tests := map[string]struct {
		wire  string
		frame Frame
	}{
		"text":           {"\x81\x05Hello", Frame{Fin: true, Op: OpText, Payload: []byte("Hello")}},
		"masked text":    {"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", Frame{Fin: true, Op: OpText, Masked: true, Payload: []byte("Hello")}},
		"first fragment": {"\x01\x03Hel", Frame{Op: OpText, Payload: []byte("Hel")}},
		"last fragment":  {"\x80\x02lo", Frame{Fin: true, Payload: []byte("lo")}},
		"ping":           {"\x89\x05Hello", Frame{Fin: true, Op: OpPing, Payload: []byte("Hello")}},
		"256 bytes":      {"\x82\x7e\x01\x00" + string(make([]byte, 256)), Frame{Fin: true, Op: OpBinary, Payload: make([]byte, 256)}},
		"64 KiB":         {"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00" + string(make([]byte, 65536)), Frame{Fin: true, Op: OpBinary, Payload: make([]byte, 65536)}},
		"reserved bits":  {"\xf3\x00", Frame{Fin: true, RSV: 7, Op: 3}},
	}
	for name, tt := range tests {
		got, err := ReadFrame(bufio.NewReader(bytes.NewReader([]byte(tt.wire))))
		if err != nil || !bytes.Equal(got.Payload, tt.frame.Payload) || got.String() != tt.frame.String() {
			t.Errorf("%s: read %v, error %v", name, got, err)
		}
		wire := AppendFrame(nil, tt.frame)
		if !tt.frame.Masked && string(wire) != tt.wire {
			t.Errorf("%s: wrote % x", name, wire[:min(len(wire), 16)])
		}
		back, err := ReadFrame(bufio.NewReader(bytes.NewReader(wire)))
		if err != nil || !bytes.Equal(back.Payload, tt.frame.Payload) || back.String() != tt.frame.String() {
			t.Errorf("%s: read back %v, error %v", name, back, err)
		}
	}
}

func TestAnEndInsideAFrameIsTold(t *testing.T) {
	wire := AppendFrame(nil, Frame{Fin: true, Op: OpBinary, Masked: true, Payload: make([]byte, 130)})
	for cut := range wire {
		want := io.ErrUnexpectedEOF
		if cut == 0 {
			want = io.EOF
		}
		if _, err := ReadFrame(bufio.NewReader(bytes.NewReader(wire[:cut]))); err != want {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

func TestCloseBodies(t *testing.T) {
	f := Frame{Payload: CloseBody(1002, "why")}
	if f.CloseCode() != 1002 || f.CloseReason() != "why" {
		t.Errorf("%d %q", f.CloseCode(), f.CloseReason())
	}
	if f := (Frame{}); f.CloseCode() != 0 || f.CloseReason() != "" {
		t.Errorf("%d %q", f.CloseCode(), f.CloseReason())
	}
}
