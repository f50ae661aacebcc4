package codec

import (
	"errors"
	"testing"
)

func TestD2_Notifications(t *testing.T) {
	f := func(raw string, want Notification) {
		t.Helper()
		check := func(got Notification, err error) {
			t.Helper()
			if err != nil || string(got.Raw) != string(want.Raw) || string(got.Method) != string(want.Method) ||
				string(got.Params) != string(want.Params) || (got.Params == nil) != (want.Params == nil) || got.Versioned != want.Versioned {
				t.Errorf("%s: %q %q %q %v, %v", raw, got.Raw, got.Method, got.Params, got.Versioned, err)
			}
		}
		check(ParseNotification([]byte(raw)))
		n, last, err := DecodeNotification([]byte("\x00" + raw))
		check(n, err)
		if last {
			t.Errorf("%s: taken for the last", raw)
		}
	}
	v := func(s string) []byte { return []byte(s) }
	f(`{"method":"notifications/tools/list_changed"}`,
		Notification{Raw: v(`{"method":"notifications/tools/list_changed"}`), Method: v("notifications/tools/list_changed")})
	f("\n {\"method\":\"m\", \"params\" : { \"x\":1.0, \"x\":2 }, \"new\":[ ]}\t",
		Notification{Raw: v("{\"method\":\"m\", \"params\" : { \"x\":1.0, \"x\":2 }, \"new\":[ ]}"), Method: v("m"), Params: v(`{ "x":1.0, "x":2 }`)})
	f(`{"jsonrpc":"2.0","method":"m","params":{}}`,
		Notification{Raw: v(`{"jsonrpc":"2.0","method":"m","params":{}}`), Method: v("m"), Params: v("{}"), Versioned: true})
	f(`{"\u006a\u0073onrpc":"2\u002e0","m\u0065thod":"a\/b","par\u0061ms":{}}`,
		Notification{Raw: v(`{"\u006a\u0073onrpc":"2\u002e0","m\u0065thod":"a\/b","par\u0061ms":{}}`), Method: v("a/b"), Params: v("{}"), Versioned: true})
	f(`{"method":"","result":1,"error":2}`, Notification{Raw: v(`{"method":"","result":1,"error":2}`)})
}

func TestD2_NotificationsRefused(t *testing.T) {
	for _, raw := range []string{
		`{}`, `[]`, `null`, `"m"`, `[{"method":"m"}]`, `{"method":1}`, `{"method":null}`, `{"params":{}}`,
		`{"method":"m","id":1}`, `{"method":"m","id":null}`, `{"method":"m","\u0069d":1}`,
		`{"method":"m","params":[]}`, `{"method":"m","params":null}`, `{"method":"m","params":"{}"}`,
		`{"method":"m","method":"m"}`, `{"method":"m","x":1,"x":2}`, `{"method":"m","params":{},"p\u0061rams":{}}`,
		`{"method":"m","jsonrpc":"1.0"}`, `{"method":"m","jsonrpc":2.0}`, `{"method":"m","jsonrpc":null}`,
		`{"method":"m","params":{"uri":"a","uri":"b"}}`, `{"method":"m","params":{"progressToken":1,"progress\u0054oken":1}}`,
	} {
		n, last, err := DecodeNotification([]byte("\x00" + raw))
		if !errors.As(err, new(*BodyError)) || last || n.Raw != nil {
			t.Errorf("%s: %+v, %v, %v", raw, n, last, err)
		}
	}
}

func TestN3_AnErrorIsTheLast(t *testing.T) {
	n, last, err := DecodeNotification([]byte("\x01" + `{"code":1,"message":"gone"}`))
	if err != nil || !last || n.Raw != nil {
		t.Errorf("%+v, %v, %v", n, last, err)
	}
}

func TestN6_FirstByte1IsTheLastWhateverFollows(t *testing.T) {
	for _, s := range append([]string{`{}`, `{"method":"m"}`}, badJSON...) {
		if _, last, err := DecodeNotification([]byte("\x01" + s)); !last || !errors.As(err, new(*BodyError)) {
			t.Errorf("%q: %v, %v", s, last, err)
		}
	}
	for _, s := range append([]string{"", "\x02", "\x00{}", "\xff{}"}, "\x00"+badJSON[3]) {
		if _, last, err := DecodeNotification([]byte(s)); last || err == nil {
			t.Errorf("%q: %v, %v", s, last, err)
		}
	}
}

func TestD2_NotificationIsGivenOneVersion(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		n, err := ParseNotification([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(AppendNotificationEnvelope([]byte("x"), n)); got != "x"+want {
			t.Errorf("%s: %s", raw, got)
		}
		if m, err := ParseMessage([]byte(want)); err != nil || m.Form != FormNotification {
			t.Errorf("%s is no message: %v", want, err)
		}
	}
	f(`{"method":"m"}`, `{"jsonrpc":"2.0","method":"m"}`)
	f("  {\n\"method\" : \"m\", \"new\":1.0 , \"params\":{\"x\":1,\"x\":\"\\ud800\"} }\r\n", "{\"jsonrpc\":\"2.0\",\n\"method\" : \"m\", \"new\":1.0 , \"params\":{\"x\":1,\"x\":\"\\ud800\"} }")
	f(` {"method":"m","jsonrpc":"2.0"} `, `{"method":"m","jsonrpc":"2.0"}`)
	f(`{"method":"m","\u006asonrpc":"2.0"}`, `{"method":"m","\u006asonrpc":"2.0"}`)
}

func TestD2_ResourceURI(t *testing.T) {
	f := func(raw, want string, wantOK bool) {
		t.Helper()
		n, err := ParseNotification([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := n.ResourceURI(); string(got) != want || ok != wantOK {
			t.Errorf("%s: %q, %v", raw, got, ok)
		}
	}
	f(`{"method":"m","params":{"uri":"file:///a"}}`, "file:///a", true)
	f(`{"method":"m","params":{"x":{"uri":1},"\u0075ri":"file:\/\/\/a"}}`, "file:///a", true)
	f(`{"method":"m","params":{"uri":""}}`, "", true)
	f(`{"method":"m","params":{"uri":"\ud800"}}`, "\xed\xa0\x80", true)
	f(`{"method":"m","params":{"uri":1}}`, "", false)
	f(`{"method":"m","params":{}}`, "", false)
	f(`{"method":"m"}`, "", false)
}
