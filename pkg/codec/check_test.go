package codec

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// What is JSON and what is not, by protocol D2. Both lists are seeds of the
// fuzz targets too.
var goodJSON = []string{
	`null`, ` {} `, "\t[\r\n]\n", `0`, `-0`, `-0.0e-0`, `1E+2`, `9007199254740993`, `123456789012345678901234567890`, `1e999`,
	`""`, `"\u0000"`, `"\"\\\/\b\f\n\r\t"`, "\"\u2028\u2029\"", `"😀"`, `"\ud83d\ude00"`, "\"\x7f\"",
	`"\ud800"`, `"\udc00"`, `"\ud800\ud800"`, `"\udc00\ud800"`, `"\uD800x"`, `{"\udfff":1}`,
	`{"a":1,"a":2}`, `[{"":{"":""}}]`,
}

var badJSON = []string{
	``, ` `, `nul`, `nullx`, `null null`, `{}{}`, `{} x`, `{} ,`, "\ufeff{}", "{}\x00", "\v{}", "\u00a0{}",
	`{`, `}`, `[`, `]`, `{]`, `[}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{a:1}`, `{'a':1}`, `{1:1}`, `{null:1}`, `[1,]`, `[,1]`, `[1 2]`, `{"a":1 "b":2}`,
	`+1`, `01`, `-`, `1.`, `.1`, `1e`, `1e+`, `0x1`, `NaN`, `Infinity`, `-Infinity`, `True`, `1,`,
	`"`, `"a`, `"\"`, `"\x"`, `"\u12"`, `"\u123g"`, `"\U0000"`, `"\a"`, `"\'"`, "\"\\\n\"",
	"\"\n\"", "\"\t\"", "\"\x00\"", "\"\x1f\"",
	"\"\xff\"", "\"\xc0\x80\"", "\"\xe2\x82\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "{\"\x80\":1}", "\xff",
	`// x` + "\n1", `/**/1`,
}

func TestD2_StrictJSON(t *testing.T) {
	for _, s := range goodJSON {
		if err := CheckJSON([]byte(s)); err != nil {
			t.Errorf("%q refused: %v", s, err)
		}
	}
	for _, s := range badJSON {
		err := CheckJSON([]byte(s))
		if failure, ok := errors.AsType[*SyntaxError](err); !ok || failure.Err == nil {
			t.Errorf("%q: %v", s, err)
		} else if failure.Offset < 0 || failure.Offset > int64(len(s)) {
			t.Errorf("%q: offset %d", s, failure.Offset)
		}
	}
}

func TestD2_FailureSaysWhereAndWhy(t *testing.T) {
	f := func(s, want string) {
		t.Helper()
		if got := CheckJSON([]byte(s)); got == nil || got.Error() != want {
			t.Errorf("%q: %v, want %q", s, got, want)
		}
	}
	f(`[1,x]`, `not JSON: invalid character 'x' at start of value at byte 3`)
	f("[\"a\xff\"]", `not JSON: invalid UTF-8 at byte 3`)
	f(`{} {}`, `not JSON: bytes after the value at byte 3`)
	f(``, `not JSON: unexpected EOF at byte 0`)
	if err := CheckJSON([]byte(`{"a":[`)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the cause is not wrapped: %v", err)
	}
}

func TestD2_NestingEndsAt10000(t *testing.T) {
	const limit = 10_000
	f := func(begin, middle, end string) {
		t.Helper()
		if err := CheckJSON([]byte(nested(limit, begin, middle, end))); err != nil {
			t.Errorf("%d deep: %v", limit, err)
		}
		if err := CheckJSON([]byte(nested(limit+1, begin, middle, end))); !errors.As(err, new(*SyntaxError)) {
			t.Errorf("%d deep: %v", limit+1, err)
		}
		if err := CheckJSON([]byte(strings.Repeat(begin, 1_000_000))); !errors.As(err, new(*SyntaxError)) {
			t.Errorf("1,000,000 deep: %v", err)
		}
	}
	f("[", "1", "]")
	f(`{"a":`, "1", "}")

	// The depth counts from the outermost value, however it is read.
	result := func(depth int) []byte {
		return []byte("\x00" + `{"content":` + nested(depth-1, "[", "", "]") + "}")
	}
	if _, err := DecodeAnswer(CallTool, result(limit)); err != nil {
		t.Errorf("result %d deep: %v", limit, err)
	}
	if _, err := DecodeAnswer(CallTool, result(limit+1)); !errors.As(err, new(*BodyError)) {
		t.Errorf("result %d deep: %v", limit+1, err)
	}
	params := func(depth int) []byte {
		return []byte(`{"jsonrpc":"2.0","method":"m","params":{"a":` + nested(depth-2, "[", "", "]") + "}}")
	}
	if _, err := ParseMessage(params(limit)); err != nil {
		t.Errorf("message %d deep: %v", limit, err)
	}
	if _, err := ParseMessage(params(limit + 1)); !errors.As(err, new(*SyntaxError)) {
		t.Errorf("message %d deep: %v", limit+1, err)
	}
}

func TestD2_MemberByTheNameItSpells(t *testing.T) {
	f := func(object, name, want string) {
		t.Helper()
		got, err := Member([]byte(object), name)
		if err != nil || string(got) != want {
			t.Errorf("Member(%s, %q) = %q, %v; want %q", object, name, got, err, want)
		}
	}
	f(`{}`, "a", ``)
	f(`{"a": 1.0 }`, "a", `1.0`)
	f(`{"b":{"a":1},"a":null}`, "a", `null`)
	f(`{"\u0061":[ ]}`, "a", `[ ]`)
	f(`{"\u0061\n\"\/\\\b\f\r\t😀\ud83d\ude00é":1}`, "a\n\"/\\\b\f\r\t😀😀é", `1`)
	f(`{"\ud800":1,"\ud801":2,"\ufffd":3}`, "\ufffd", `3`)
	f(`{"\ud800":1,"\ud801":2,"\ufffd":3}`, "\xed\xa0\x80", `1`)
	f(`{"\ud800\u0061":1}`, "\xed\xa0\x80a", `1`)
	f(`{"\ud800\ud83d\ude00":1}`, "\xed\xa0\x80😀", `1`)
	f(`{"x":1,"x":2,"a":3}`, "a", `3`)

	for _, object := range []string{`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":null,"b":0,"a":null}`, `[]`, `"a"`, `{"a":1`, `{"a":1}x`, ``} {
		if v, err := Member([]byte(object), "a"); err == nil {
			t.Errorf("Member(%s) = %q", object, v)
		}
	}
}
