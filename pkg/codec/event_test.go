package codec

import (
	"strings"
	"testing"
)

func TestD6_LineBreaksBetweenTokensBecomeSpaces(t *testing.T) {
	f := func(json, data string) {
		t.Helper()
		source := []byte(json)
		got := string(AppendEvent([]byte("a\r\n"), source))
		if want := "a\r\nevent: message\ndata: " + data + "\n\n"; got != want {
			t.Errorf("%q: %q, want %q", json, got, want)
		}
		if string(source) != json {
			t.Errorf("the source became %q", source)
		}
	}
	f(`{"a":"b"}`, `{"a":"b"}`)
	f("{\n  \"a\": 1,\r\n  \"b\": [\r]\n}\n", "{   \"a\": 1,    \"b\": [ ] } ")
	f("\n\n\r", "   ")
	f(`{"a":"\r\n\u000a"}`, `{"a":"\r\n\u000a"}`)
	f("{\"a\":\"\u2028\u0085\"}", "{\"a\":\"\u2028\u0085\"}")
	long := strings.Repeat("[1,\n", 10_000)
	f(long, strings.ReplaceAll(long, "\n", " "))
}
