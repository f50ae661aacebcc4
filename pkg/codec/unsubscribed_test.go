package codec

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestAppendUnsubscribedTakesAwayNothingElse(t *testing.T) {
	const id = `"io.modelcontextprotocol/subscriptionId"`
	for _, c := range []struct{ params, want string }{
		{`{}`, `{}`},
		{`{"a":1}`, `{"a":1}`},
		{`{"_meta":null}`, `{"_meta":null}`},
		{`{"_meta":{}}`, `{"_meta":{}}`},
		{`{"_meta":{` + id + `:1}}`, `{}`},
		{`{"_meta":{` + id + `:"x"},"a":1.0}`, `{"a":1.0}`},
		{`{"a":1.0 , "_meta" : {` + id + `:1} }`, `{"a":1.0  }`},
		{`{"_meta":{` + id + `:1,"k":[]}}`, `{"_meta":{"k":[]}}`},
		{`{"_meta":{"k":[],` + id + `:1},"dup":1,"dup":2}`, `{"_meta":{"k":[]},"dup":1,"dup":2}`},
		{`{"_meta":{"k":[] , "io.modelcontextprotocol\/subscriptionId":{"a":1} , "l":1}}`, `{"_meta":{"k":[] , "l":1}}`},
		{`{"io.modelcontextprotocol/subscriptionId":1}`, `{"io.modelcontextprotocol/subscriptionId":1}`},
	} {
		got, err := AppendUnsubscribed([]byte("x"), []byte(c.params))
		if err != nil || string(got) != "x"+c.want {
			t.Errorf("%s became %s, %v; want %s", c.params, got, err, c.want)
		}
	}
	if got, err := AppendUnsubscribed([]byte("x"), nil); err != nil || string(got) != "x" {
		t.Errorf("no params became %s, %v", got, err)
	}
	for _, params := range []string{``, `[]`, `{"_meta":{},"_meta":{}}`, `{"_meta":{`} {
		if got, err := AppendUnsubscribed([]byte("x"), []byte(params)); err == nil || string(got) != "x" {
			t.Errorf("%s became %s", params, got)
		}
	}
}

func FuzzAppendUnsubscribed(f *testing.F) {
	f.Add(`{"_meta":{"a":1},"b":[1.0,"\u2028"]}`, []byte(`"listen:0"`))
	f.Add(`{"b":2}`, []byte(`7`))
	f.Add(`{ "_meta" : {"io.modelcontextprotocol/subscriptionId":1 , "x":{}} , "y":0}`, []byte(`-1`))
	f.Fuzz(func(t *testing.T, params string, id []byte) {
		notification, err := ParseNotification([]byte(`{"method":"m","params":` + params + `}`))
		if err != nil {
			t.Skip()
		}
		plain, err := AppendUnsubscribed(nil, []byte(params))
		if err != nil {
			t.Skip()
		}
		if !json.Valid(plain) {
			t.Fatalf("%s became %s", params, plain)
		}
		if !json.Valid(id) || !utf8.Valid(id) {
			return
		}
		subscribed, err := AppendSubscribed(nil, notification, id)
		if err != nil {
			return
		}
		with, err := Member(subscribed, "params")
		if err != nil {
			t.Fatal(err)
		}
		again, err := AppendUnsubscribed(nil, with)
		if err != nil || !json.Valid(again) || bytes.Contains(again, []byte(`"`+MetaSubscriptionID+`"`)) && !bytes.Contains(plain, []byte(MetaSubscriptionID)) {
			t.Fatalf("%s with a subscription and without is %s, %v", params, again, err)
		}
	})
}
