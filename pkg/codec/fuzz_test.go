package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// frames are the seeds of the targets that read frames.
var frames = []string{
	"", "\x00", "\x01", "\x02", "\x00{}", "\x01{}", "\x00null",
	"\x00\x00\x00\x01\x00null", "\x00\x00\x01\x02\x02{\"name\":\"t\"}", "\xff\xff\xff\xff\x04",
	"\x00" + `{"tools":[]}`, "\x00" + `{"content":[],"resultType":"complete"}`, "\x00" + `{"structuredContent":1,"\u0063ontent":[]}`,
	"\x01" + `{"code":-32601,"message":"no"}`, "\x01" + `{"code":1,"message":"\ud800","data":{"a":1,"a":2}}`,
	"\x00" + `{"method":"notifications/tools/list_changed"}`, "\x00" + `{"method":"a\/b","params":{"uri":"\ud83d\ude00"},"jsonrpc":"2.0"}`,
	"\x00" + ` {"m\u0065thod":"m","x":1,"y":[{}]} `,
}

func FuzzDecodeNeverPanics(f *testing.F) {
	for _, s := range frames {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(2))
	}
	for i, s := range append(badJSON, goodJSON...) {
		f.Add([]byte("\x00"+s), uint8(i))
	}
	f.Add([]byte("/mcp/call-tool/258"), uint8(4))
	f.Fuzz(func(t *testing.T, b []byte, kind uint8) {
		before := bytes.Clone(b)
		k := Kind(kind)
		if a, err := DecodeAsk(b); err == nil && !a.Kind.Known() {
			t.Errorf("ask of %v", a.Kind)
		}
		if a, err := DecodeAnswer(k, b); err == nil {
			if err := CheckJSON(a.Body); err != nil || !isObject(trimSpace(a.Body)) {
				t.Errorf("body %q: %v", a.Body, err)
			}
		}
		n, last, err := DecodeNotification(b)
		if last != (len(b) > 0 && b[0] == 1) {
			t.Errorf("%q: last is %v", b, last)
		}
		if err == nil && !last {
			n.ResourceURI()
			if m, err := ParseMessage(AppendNotificationEnvelope(nil, n)); err != nil || !bytes.Equal(m.Method, n.Method) || !bytes.Equal(m.Params, n.Params) {
				t.Errorf("%q makes no message: %+v, %v", n.Raw, m, err)
			}
		}
		_, _ = ParseError(b)
		_, _ = ParseNotification(b)
		_, _ = ParseMessage(b)
		_, _ = Member(b, "method")
		_, _ = k.Payload(b)
		_, _ = KindOfMethod(b)
		if k, channel, ok := ParsePath(b); ok && !bytes.Equal(AppendPath(nil, k, channel), b) {
			t.Errorf("path %q is not canonical", b)
		}
		_ = k.String()
		if !bytes.Equal(b, before) {
			t.Error("the input was written to")
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	for _, s := range frames {
		f.Add([]byte(s), uint32(1), uint8(0))
		f.Add([]byte(s), uint32(math.MaxUint32), uint8(4))
	}
	f.Fuzz(func(t *testing.T, b []byte, channel uint32, kind uint8) {
		// What is encoded decodes to itself.
		k := Kind(kind)
		a, err := DecodeAsk(AppendAsk([]byte{}, channel, k, b))
		switch {
		case !k.Known():
			if !errors.As(err, new(*UnknownKindError)) {
				t.Errorf("kind %d: %v", kind, err)
			}
		case err != nil || a.Channel != channel || a.Kind != k || !bytes.Equal(a.Payload, b) && k != Notifications:
			t.Errorf("%+v, %v", a, err)
		}
		if k.Known() {
			if k2, c2, ok := ParsePath(AppendPath(nil, k, channel)); !ok || k2 != k || c2 != channel {
				t.Errorf("path of %v %d: %v %d %v", k, channel, k2, c2, ok)
			}
		}
		// What decodes is encoded to itself.
		if a, err := DecodeAsk(b); err == nil && a.Kind != Notifications {
			if got := AppendAsk(nil, a.Channel, a.Kind, a.Payload); !bytes.Equal(got, b) {
				t.Errorf("ask %x became %x", b, got)
			}
		}
		if a, err := DecodeAnswer(k, b); err == nil {
			encode := AppendResult
			if a.Tag == TagError {
				encode = AppendError
			}
			if got := encode(nil, a.Body); !bytes.Equal(got, b) {
				t.Errorf("answer %x became %x", b, got)
			}
			// From a value the same JSON, with less space.
			got, err := AppendValue(nil, a.Tag, json.RawMessage(a.Body))
			if err != nil || !bytes.Equal(got[1:], compact(a.Body)) {
				t.Errorf("answer %q became %q, %v", b, got, err)
			}
			if _, err := DecodeAnswer(k, got); err != nil {
				t.Errorf("answer %q became %q: %v", b, got, err)
			}
		}
		if len(b) > 0 && b[0] == byte(TagError) {
			if e, err := ParseError(b[1:]); err == nil {
				again, err := ParseError(e.Append(nil))
				if err != nil || again.Code != e.Code || again.Message != e.Message || !bytes.Equal(again.Data, e.Data) {
					t.Errorf("error %+v became %+v, %v", e, again, err)
				}
			}
		}
	})
}

func compact(b []byte) []byte {
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		return nil
	}
	return out.Bytes()
}

// FuzzCheckAgreesWithJsontext also proves the differences that the package
// documents, and no others: from jsontext by default escaped lone surrogates
// and duplicate names, from encoding/json invalid UTF-8.
func FuzzCheckAgreesWithJsontext(f *testing.F) {
	for _, s := range append(badJSON, goodJSON...) {
		f.Add([]byte(s))
		f.Add([]byte(`{"a":[` + s + `]}`))
	}
	f.Fuzz(checkAgrees)
}

// The fuzzer spends its time on making seeds of this size smaller, so they are
// no seeds of it.
func TestD2_DeepNestingAgreesWithJsontext(t *testing.T) {
	for _, depth := range []int{9_999, 10_000, 10_001} {
		checkAgrees(t, []byte(nested(depth, "[", "", "]")))
		checkAgrees(t, []byte(nested(depth, `{"a":`, "1", "}")))
	}
}

func checkAgrees(t *testing.T, b []byte) {
	got := CheckJSON(b) == nil
	if got != checkJsontext(b, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) && utf8.Valid(b) {
		t.Errorf("%q: %v, jsontext says %v", b, got, !got)
	}
	switch strict := checkJsontext(b, jsontext.AllowDuplicateNames(true)); {
	case strict && !got:
		t.Errorf("%q: refused, although jsontext takes it", b)
	case got && !strict && !hasLoneSurrogate(b):
		t.Errorf("%q: accepted, although jsontext refuses it", b)
	}
	if lenient := json.Valid(b); got != (lenient && utf8.Valid(b)) {
		t.Errorf("%q: %v, encoding/json says %v", b, got, lenient)
	}
}

func checkJsontext(b []byte, options ...jsontext.Options) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(b), options...)
	if _, err := dec.ReadValue(); err != nil {
		return false
	}
	_, err := dec.ReadToken()
	return err == io.EOF
}

// hasLoneSurrogate looks for an escape of one in valid JSON.
func hasLoneSurrogate(b []byte) bool {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		i++
		if b[i] != 'u' {
			continue
		}
		r := codeUnit(b[i+1 : i+5])
		i += 4
		if !utf16.IsSurrogate(r) {
			continue
		}
		low, ok := escaped(b[i+1:])
		if !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
			return true
		}
		i += 6
	}
	return false
}

func FuzzParseMessage(f *testing.F) {
	for _, id := range append(goodIDs, badIDs...) {
		f.Add([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"m","params":{"x":1.0,"x":[ ]}}`))
		f.Add([]byte(`{"jsonrpc":"2.0","id":` + id + `,"result": {"content":[],"new":1e400}}`))
	}
	f.Add([]byte(`{"jsonrpc":"2.0","\u0069d":"\ud800","m\u0065thod":"a\/b","params":null}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_m\u0065ta":{"a":{}},"name" : 1, "uri":"u"}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","error":{"code":1,"message":""},"x":1}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1,"method":"m"}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseMessage(b)
		if syntax := errors.As(err, new(*SyntaxError)); syntax != (CheckJSON(b) != nil) {
			t.Errorf("%q: %v", b, err)
		}
		if invalid, ok := errors.AsType[*InvalidError](err); ok && invalid.ID != nil {
			m.ID = invalid.ID
		} else if err != nil {
			return
		}
		if m.ID != nil {
			sameMember(t, b, "id", m.ID)
			checkID(t, m.ID)
		}
		if err != nil {
			return
		}
		for name, value := range map[string][]byte{"params": m.Params, "result": m.Result, "error": m.Error} {
			if value != nil {
				sameMember(t, b, name, value)
			}
		}
		for name, value := range map[string][]byte{"_meta": m.Meta, "name": m.Name, "uri": m.URI} {
			if value != nil {
				sameMember(t, m.Params, name, value)
			}
		}
		switch m.Form {
		case FormRequest, FormNotification:
			if m.Method == nil || (m.ID == nil) != (m.Form == FormNotification) {
				t.Errorf("%q: %+v", b, m)
			}
		case FormResponse:
			if m.Method != nil || (m.Result == nil) == (m.Error == nil) {
				t.Errorf("%q: %+v", b, m)
			}
		}

		// Spliced into a response, the bytes come out as they went in.
		payload := m.Params
		if payload == nil {
			payload = []byte(`{}`)
		}
		if m.ID != nil {
			response := AppendResponse(nil, m.ID, payload)
			back, err := ParseMessage(response)
			if err != nil || !bytes.Equal(back.ID, m.ID) || !bytes.Equal(back.Result, payload) {
				t.Errorf("%q became %q: %v", b, response, err)
			}
		}
		if m.Error != nil {
			response := AppendErrorResponse(nil, m.ID, m.Error)
			back, err := ParseMessage(response)
			if err != nil || !bytes.Equal(back.ID, m.ID) || !bytes.Equal(back.Error, m.Error) {
				t.Errorf("%q became %q: %v", b, response, err)
			}
		}
		checkEvent(t, AppendEvent(nil, b), b)
	})
}

// sameMember compares with what encoding/json finds, which for names that are
// not duplicate and spelled right is the same.
func sameMember(t *testing.T, object []byte, name string, want []byte) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil || !bytes.Equal(members[name], want) {
		t.Errorf("%q: %s is %q, encoding/json has %q, %v", object, name, want, members[name], err)
	}
}

func checkID(t *testing.T, id []byte) {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(id))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Errorf("id %q: %v", id, err)
	}
	switch v := v.(type) {
	case string:
	case json.Number:
		if bytes.ContainsAny([]byte(v), ".eE") {
			t.Errorf("id %s is no integer", id)
		}
	default:
		t.Errorf("id %s is a %T", id, v)
	}
}

func checkEvent(t *testing.T, event, b []byte) {
	t.Helper()
	data, ok := bytes.CutPrefix(event, []byte("event: message\ndata: "))
	data, ok2 := bytes.CutSuffix(data, []byte("\n\n"))
	if !ok || !ok2 || bytes.ContainsAny(data, "\r\n") || !bytes.Equal(compact(data), compact(b)) {
		t.Errorf("%q became the event %q", b, event)
	}
}
