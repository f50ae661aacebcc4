package codec

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// decodedResult reads a result as DecodeAnswer does, except that it need not
// hold the array of its kind.
func decodedResult(result []byte, k Kind) (Answer, error) {
	a := Answer{Body: result}
	_, err := a.shape.read(result, "\x00")
	if err == nil {
		err = a.shape.unique(k.once())
	}
	return a, err
}

// respondBothWays has the response made of its own and in the frame, which must
// be the same, and returns the result in it.
func respondBothWays(result []byte, k Kind, respond func(*Buffer, Answer, []byte) (*Buffer, error)) ([]byte, error) {
	id := []byte(`"id"`)
	a, err := decodedResult(result, k)
	if err != nil {
		return nil, err
	}
	alone, err := respond(nil, a, id)
	if err != nil {
		return nil, err
	}
	defer alone.Release()

	frame := GetFrame(len(result) + 1)
	defer frame.Release()
	frame.B = AppendResult(frame.B, result)
	within, err := decodedResult(frame.B[1:], k)
	if err != nil {
		return nil, err
	}
	got, err := respond(frame, within, id)
	if err != nil {
		return nil, err
	}
	defer got.Release()
	if !bytes.Equal(got.B, alone.B) {
		return nil, fmt.Errorf("in the frame it is %q, else %q", got.B, alone.B)
	}
	b, head := bytes.CutPrefix(got.B, []byte(`{"jsonrpc":"2.0","id":"id","result":`))
	b, tail := bytes.CutSuffix(b, []byte(`}`))
	if !head || !tail {
		return nil, fmt.Errorf("it is %q", got.B)
	}
	return bytes.Clone(b), nil
}

func modernResult(result []byte, k Kind, info []byte) ([]byte, error) {
	return respondBothWays(result, k, func(frame *Buffer, a Answer, id []byte) (*Buffer, error) {
		return ModernResponse(frame, a, id, k, info)
	})
}

func legacyResult(result []byte, k Kind) ([]byte, error) {
	return respondBothWays(result, k, func(frame *Buffer, a Answer, id []byte) (*Buffer, error) {
		return LegacyResponse(frame, a, id, k)
	})
}

// TestALargeResultIsNotCopied: the response is in the frame that the result
// came in, unless that has to be changed far from its end.
func TestALargeResultIsNotCopied(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	text := `{"content":[{"type":"text","text":"` + long + `"}]`
	f := func(what string, want bool, k Kind, result string, id string, modern bool) {
		t.Helper()
		frame := GetFrame(len(result) + 1)
		frame.B = AppendResult(frame.B, []byte(result))
		a, err := DecodeAnswer(k, frame.B)
		if err != nil {
			t.Fatal(err)
		}
		at := &a.Body[0]
		var out *Buffer
		if modern {
			out, err = ModernResponse(frame, a, []byte(id), k, []byte(`{"name":"gateway"}`))
		} else {
			out, err = LegacyResponse(frame, a, []byte(id), k)
		}
		if err != nil {
			t.Fatal(err)
		}
		frame.Release()
		m, err := ParseMessage(out.B)
		if err != nil || string(m.ID) != id || !bytes.Contains(m.Result, []byte(long)) {
			t.Errorf("%s: %v", what, err)
		}
		if in := out == frame && &m.Result[0] == at; in != want {
			t.Errorf("%s: in the frame is %v", what, in)
		}
		out.Release()
	}
	for _, id := range []string{`1`, `""`, `"0190a7c4-7a3e-7cc1-9f0e-2d6f1c1f6b52"`} {
		f("a legacy client", true, CallTool, text+`}`, id, false)
		f("a modern client", true, CallTool, text+`}`, id, true)
		f("_meta at the end", true, CallTool, text+`,"_meta":{"a":1}}`, id, true)
	}
	f("_meta at the beginning", false, CallTool, `{"_meta":{"a":1},`+text[1:]+`}`, `1`, true)
	f("all is said", true, CallTool, `{"resultType":"complete","_meta":{"`+MetaServerInfo+`":1},`+text[1:]+`}`, `1`, true)
	f("a structuredContent to remove", false, CallTool, `{"structuredContent":1,`+text[1:]+`}`, `1`, false)
	f("a long id", false, CallTool, text+`}`, `"`+strings.Repeat("i", frontRoom)+`"`, false)
	f("space at the end", false, CallTool, text+strings.Repeat(" ", shortRest)+`}`, `1`, true)
	f("and nothing to change", true, CallTool, text+strings.Repeat(" ", shortRest)+`}`, `1`, false)
}

func TestAFrameWithoutRoomIsLeft(t *testing.T) {
	const result = `{"content":[],"x":[1.0]}`
	frame := &Buffer{B: AppendResult(nil, []byte(result))}
	a, err := DecodeAnswer(CallTool, frame.B)
	if err != nil {
		t.Fatal(err)
	}
	out, err := LegacyResponse(frame, a, []byte(`1`), CallTool)
	if err != nil || out == frame || string(out.B) != `{"jsonrpc":"2.0","id":1,"result":`+result+`}` {
		t.Errorf("%q, %v", out.B, err)
	}
	if string(frame.B) != "\x00"+result {
		t.Errorf("the frame is %q now", frame.B)
	}
	out.Release()
}
