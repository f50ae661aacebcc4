package codec

import "testing"

func TestAMemberIsReplacedOrAdded(t *testing.T) {
	f := func(object, name, value, want string) {
		t.Helper()
		got, err := AppendWithMember([]byte("x"), []byte(object), name, []byte(value))
		if err != nil || string(got) != "x"+want {
			t.Errorf("%s: %s, %v\nwant %s", object, got, err, want)
		}
	}
	f(`{}`, "a", `1`, `{"a":1}`)
	f(` { } `, "a", `1`, ` {"a":1 } `)
	f(`{"b":{"a":1} }`, "a", `[ ]`, `{"b":{"a":1},"a":[ ] }`)
	f(`{ "a" : null , "b":1,"b":2}`, "a", `{}`, `{ "a" : {} , "b":1,"b":2}`)
	f(`{"b":1,"\u0061":"\ud800"}`, "a", `2`, `{"b":1,"\u0061":2}`)
	f(`{"A":1}`, "a", `2`, `{"A":1,"a":2}`)
	f(`{}`, "\"\\\n\u00e9", `1`, "{\"\\\"\\\\\\n\u00e9\":1}")
}

func TestAMemberThatCannotBeReplacedIsRefused(t *testing.T) {
	for _, object := range append([]string{`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `[]`, `null`, `"a"`, `1`}, badJSON...) {
		dst := append(make([]byte, 0, 1024), "x"...)
		if got, err := AppendWithMember(dst, []byte(object), "a", []byte(`1`)); err == nil || string(got) != "x" {
			t.Errorf("%q: %q, %v", object, got, err)
		}
	}
}

func notification(t *testing.T, raw string) Notification {
	t.Helper()
	n, err := ParseNotification([]byte(spell(raw)))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return n
}

func TestANotificationNamesItsSubscription(t *testing.T) {
	for _, id := range []string{`1`, `"1"`, `"listen:0"`, `9007199254740993`, `""`, `"\u0061"`} {
		f := func(raw, want string) {
			t.Helper()
			got, err := AppendSubscribed([]byte("x"), notification(t, raw), []byte(id))
			if want = "x" + spell(want) + id; err != nil || len(got) < len(want) || string(got[:len(want)]) != want {
				t.Errorf("%s: %s, %v", raw, got, err)
				return
			}
			if m, err := ParseMessage(got[1:]); err != nil || m.Form != FormNotification || m.Meta == nil {
				t.Errorf("%s: %s: %v", raw, got, err)
			}
		}
		f(` {"method":"m"} `, `{"jsonrpc":"2.0","method":"m","params":{"_meta":{%N:`)
		f(`{"params":{ },"method":"m"}`, `{"jsonrpc":"2.0","params":{"_meta":{%N:`)
		f(`{"params":{"a":1.0,"a":2 },"method":"m"}`, `{"jsonrpc":"2.0","params":{"a":1.0,"a":2,"_meta":{%N:`)
		f(`{"params":{"_meta":null,"a":1},"method":"m"}`, `{"jsonrpc":"2.0","params":{"_meta":{%N:`)
		f(`{"jsonrpc" : "2.0","method":"m","p\u0061rams":{"_m\u0065ta":{"b":1 }}}`, `{"jsonrpc" : "2.0","method":"m","p\u0061rams":{"_m\u0065ta":{"b":1,%N:`)
		f(`{"method":"m","jsonrpc":"2.0","params":{"_meta":{%N : "old","b":1}}}`, `{"method":"m","jsonrpc":"2.0","params":{"_meta":{%N : `)
	}
	want := spell(`{"jsonrpc":"2.0","method":"m","params":{"_meta":{"a":[ ],%N:7, "b":1e0} ,"c":"\ud800"}, "new":1.50}`)
	got, err := AppendSubscribed(nil, notification(t, `{"method":"m","params":{"_meta":{"a":[ ],%N:{"x":1}, "b":1e0} ,"c":"\ud800"}, "new":1.50}`), []byte("7"))
	if err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	for _, raw := range []string{`{"method":"m","params":{"_meta":5}}`, `{"method":"m","params":{"_meta":[]}}`, `{"method":"m","params":{"_meta":{%N:1,%N:1}}}`} {
		if got, err := AppendSubscribed([]byte("x"), notification(t, raw), []byte("1")); err == nil || string(got) != "x" {
			t.Errorf("%s: %s, %v", raw, got, err)
		}
	}
}

func TestProgressBearsTheTokenItIsGiven(t *testing.T) {
	f := func(raw, token, want string) {
		t.Helper()
		got, err := AppendProgress([]byte("x"), notification(t, raw), []byte(token))
		if err != nil || string(got) != "x"+want {
			t.Errorf("%s: %s, %v\nwant %s", raw, got, err, want)
		}
	}
	f(`{"method":"notifications/progress","params":{"progressToken":1099511627777,"progress":1.0}}`, `"t\u0031"`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t\u0031","progress":1.0}}`)
	f(` {"jsonrpc":"2.0", "params":{"x":{"progressToken":5} , "progress\u0054oken" : "5" ,"_meta":{"progressToken":1}},"method":"m"}`, `0`,
		`{"jsonrpc":"2.0", "params":{"x":{"progressToken":5} , "progress\u0054oken" : 0 ,"_meta":{"progressToken":1}},"method":"m"}`)
}
