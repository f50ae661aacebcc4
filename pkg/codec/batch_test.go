package codec

import (
	"errors"
	"strings"
	"testing"
)

func TestABatchIsTakenApartByteForByte(t *testing.T) {
	f := func(b string, want ...string) {
		t.Helper()
		got, err := AppendBatch(nil, []byte(b), 3)
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: %q, %v", b, got, err)
			return
		}
		for i := range got {
			if string(got[i]) != want[i] || cap(got[i]) != len(got[i]) {
				t.Errorf("%s: element %d is %q", b, i, got[i])
			}
		}
	}
	f(`[]`)
	f(" [ \n]\t")
	f(`[1.0]`, `1.0`)
	f(` [ {"id" : 1,"id":2} ,"\ud800", [[],{}]]`, `{"id" : 1,"id":2}`, `"\ud800"`, `[[],{}]`)
	f(`[null,{},{"a":[1]}]`, `null`, `{}`, `{"a":[1]}`)
}

func TestABatchIsAddedToWhatIsThere(t *testing.T) {
	dst := [][]byte{[]byte("x")}
	got, err := AppendBatch(dst, []byte(`[1,2]`), 2)
	if err != nil || len(got) != 3 || string(got[0]) != "x" || string(got[2]) != "2" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestABatchRefused(t *testing.T) {
	dst := [][]byte{[]byte("x")}
	invalid := func(b string, batch bool, reason string) {
		t.Helper()
		got, err := AppendBatch(dst, []byte(b), 2)
		failure, ok := errors.AsType[*InvalidError](err)
		if !ok || failure.Batch != batch || failure.ID != nil || !strings.Contains(failure.Reason, reason) || len(got) != 1 {
			t.Errorf("%s: %q, %v", b, got, err)
		}
	}
	for _, b := range []string{`{}`, `{"id":1}`, `null`, `"[]"`, `1`} {
		invalid(b, false, "array")
	}
	invalid(`[1,2,3]`, true, "at most 2")
	invalid("["+strings.Repeat("{},", 100_000)+"{}]", true, "100001 messages")

	for _, s := range badJSON {
		for _, b := range []string{s, "[1 " + s + "x", "[1,2,3,4," + s} {
			if got, err := AppendBatch(dst, []byte(b), 2); !errors.As(err, new(*SyntaxError)) || len(got) != 1 {
				t.Errorf("%q: %q, %v", b, got, err)
			}
		}
	}
}
