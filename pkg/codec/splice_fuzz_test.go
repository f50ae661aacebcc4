package codec

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

var jsontextOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// member is one of an object, as a reader of tokens finds it.
type member struct{ spelled, name, value string }

// members reads valid JSON; ok says whether it is an object.
func members(object []byte) (all []member, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(object), jsontextOptions...)
	if dec.PeekKind() != '{' {
		return nil, false
	}
	_, _ = dec.ReadToken()
	for dec.PeekKind() != '}' {
		spelled, err := dec.ReadValue()
		m := member{spelled: string(spelled), name: string(unquote(bytes.Clone(spelled)))}
		value, err2 := dec.ReadValue()
		if err != nil || err2 != nil {
			return nil, false
		}
		m.value = string(value)
		all = append(all, m)
	}
	return all, true
}

func named(name, value string) member { return member{`"` + name + `"`, name, value} }

func indexOf(all []member, name string) int {
	return slices.IndexFunc(all, func(m member) bool { return m.name == name })
}

// join is an object of members, with no space between them.
func join(all []member) string {
	var b strings.Builder
	for i, m := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(m.spelled + ":" + m.value)
	}
	return "{" + b.String() + "}"
}

func sameMembers(t *testing.T, what string, got []byte, want []member) {
	t.Helper()
	if err := CheckJSON(got); err != nil {
		t.Fatalf("%s became %q: %v", what, got, err)
	}
	if all, ok := members(got); !ok || !slices.Equal(all, want) {
		t.Fatalf("%s became %q\nwant %s", what, got, join(want))
	}
}

// objects are seeds of all targets here.
var objects = []string{
	`{}`, ` { } `, `{"_meta":{}}`, `{"a":1.0,"a":[ ],"\ud800":"\ud800"}`, `{"_meta":null,"x":"\\\"}]"}`, `{"_meta":{"a":{}},"_meta":5}`, `{"a":"\\"}`,
	spell(`{"x":{"_meta":{%V:1}}, "_m\u0065ta" : { %V:1 , "progressToken":5,%I:{"name":"a"},%C:{} , %L:1,%S:1,%N:1 } ,"progressToken":1,"structuredContent":[1]}`),
	spell(`{"_meta":{%V:1}}`), spell(`{ "a":[] ,"_meta":{%V:1,%V:1}}`),
	`{"content":null,"structuredContent":5,"resultType":null,"ttlMs":null,"cacheScope":null}`, `{"resultType":"input_\u0072equired"}`, `{"structuredContent":"x"}`,
	`{"structuredContent":[],"content":[{}]}`, `{"resultType":"complete","structuredContent":{}}`,
	`{"tools":[{"outputSchema":1,"a":2},{"a":1,"output\u0053chema":{"type":"object"}},[],{"outputSchema":{}}],"_meta":{"progressToken":"a"}}`,
}

// FuzzScan: a scanner finds what jsontext finds.
func FuzzScan(f *testing.F) {
	for _, s := range slices.Concat(objects, goodJSON, badJSON) {
		f.Add([]byte(s))
		f.Add([]byte(`{"a":` + s + `,"b" : [` + s + `]}`))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var found []member
		s := scan(b)
		err := s.object("it")
		for err == nil && s.next() {
			if string(b[s.valueAt:s.at]) != string(s.value) {
				t.Fatalf("%q: %q is not at %d", b, s.value, s.valueAt)
			}
			spelled, _ := stringEnd(b, s.nameAt+1)
			found = append(found, member{string(b[s.nameAt:spelled]), string(s.name), string(s.value)})
		}
		if err == nil {
			err = s.end()
		}
		_, shaped := err.(shapeError)
		if syntax := CheckJSON(b); (err == nil || shaped) != (syntax == nil) || syntax != nil && err.Error() != syntax.Error() {
			t.Fatalf("%q: %v, and all of it: %v", b, err, syntax)
		}
		if err != nil && !shaped {
			return
		}
		if want, isObject := members(b); shaped == isObject || !slices.Equal(found, want) {
			t.Fatalf("%q: found %q (%v), want %q", b, found, err, want)
		}
	})
}

func FuzzAppendParams(f *testing.F) {
	for i, s := range objects {
		for bits := range uint8(8) {
			f.Add([]byte(s), `"new":1,"a":{},`+spell(`%C:{}`), bits+uint8(i)*8)
		}
	}
	f.Fuzz(func(t *testing.T, params []byte, add string, bits uint8) {
		m, err := ParseMessage(slices.Concat([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":`), params, []byte(`}`)))
		if err != nil {
			return
		}
		edit := MetaEdit{DropModern: bits&1 != 0}
		if bits&2 != 0 {
			edit.ProgressToken = []byte("77")
		}
		var adds []member
		if object := []byte("{" + add + "}"); bits&4 != 0 && CheckJSON(object) == nil && !strings.ContainsAny(add, spaces) {
			if adds, _ = members(object); len(adds) > 0 {
				edit.Add = []byte(add)
			}
		}
		got, err := AppendParams([]byte{'x'}, m.Params, m.Meta, edit)
		if err != nil {
			if string(got) != "x" {
				t.Errorf("%q, %v", got, err)
			}
			_, parsed := ParseMeta(m.Meta)
			if parsed == nil && (edit.Add == nil || isObject(m.Params) || isNull(m.Params)) {
				t.Errorf("%q: %v", params, err)
			}
			return
		}
		got = got[1:]
		want, object := members(m.Params)
		if !object && edit.Add == nil {
			if !bytes.Equal(got, m.Params) {
				t.Errorf("%q became %q", m.Params, got)
			}
			return
		}
		at := indexOf(want, "_meta")
		if at < 0 {
			if edit.Add != nil {
				want = append(want, named("_meta", "{"+add+"}"))
			}
			sameMembers(t, string(params), got, want)
			return
		}
		meta, object := members([]byte(want[at].value))
		before := len(meta)
		if !object && edit.Add == nil {
			sameMembers(t, string(params), got, want)
			return
		}
		meta = expectedMeta(meta, edit, adds)
		after, _ := members(got)
		if len(meta) == 0 && before > 0 {
			want = slices.Delete(want, at, at+1)
		} else {
			where := indexOf(after, "_meta")
			if where < 0 {
				t.Fatalf("%q became %q", params, got)
			}
			sameMembers(t, want[at].value, []byte(after[where].value), meta)
			want[at].value = after[where].value
		}
		sameMembers(t, string(params), got, want)
	})
}

func expectedMeta(meta []member, edit MetaEdit, adds []member) []member {
	if edit.DropModern {
		meta = slices.DeleteFunc(meta, func(m member) bool {
			return m.name == MetaProtocolVersion || m.name == MetaClientInfo || m.name == MetaClientCapabilities || m.name == MetaLogLevel
		})
	}
	if i := indexOf(meta, "progressToken"); i >= 0 && edit.ProgressToken != nil {
		meta[i].value = string(edit.ProgressToken)
	}
	if edit.Add == nil {
		return meta
	}
	there := slices.Clone(meta)
	for _, m := range adds {
		if indexOf(there, m.name) < 0 {
			meta = append(meta, m)
		}
	}
	return meta
}

func FuzzAppendSubscribed(f *testing.F) {
	for _, s := range objects {
		f.Add([]byte(`{"method":"m","params":` + s + `}`))
		f.Add([]byte(`{"p\u0061rams":` + s + `,"method":"m" ,"x":[ 1.0],"jsonrpc":"2.0"}`))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		n, err := ParseNotification(raw)
		if err != nil {
			return
		}
		envelope, _ := members(AppendNotificationEnvelope(nil, n))
		const id = `"\u0069d"`
		for _, path := range [][]string{{"params", "_meta", MetaSubscriptionID}, {"params", "progressToken"}} {
			appended := AppendProgress
			if len(path) == 3 {
				appended = AppendSubscribed
			}
			got, err := appended([]byte{'x'}, n, []byte(id))
			if err != nil {
				meta, parsed := Member(n.Params, "_meta")
				if len(path) == 2 || parsed == nil && isNull(meta) || string(got) != "x" {
					t.Errorf("%q: %q, %v", raw, got, err)
				}
				continue
			}
			sameAlong(t, got[1:], envelope, path, id)
		}
	})
}

// sameAlong checks that got has the members wanted, but for what the path
// leads to, which is value.
func sameAlong(t *testing.T, got []byte, want []member, path []string, value string) {
	t.Helper()
	want = slices.Clone(want)
	after, _ := members(got)
	where := indexOf(after, path[0])
	if where < 0 {
		t.Fatalf("%q has no %s", got, path[0])
	}
	at := indexOf(want, path[0])
	var inner []member
	if at >= 0 {
		inner, _ = members([]byte(want[at].value))
		want[at].value = after[where].value
	} else {
		want = append(want, named(path[0], after[where].value))
	}
	sameMembers(t, path[0], got, want)
	if len(path) == 1 {
		if after[where].value != value {
			t.Fatalf("%q is not %q", after[where].value, value)
		}
		return
	}
	sameAlong(t, []byte(after[where].value), inner, path[1:], value)
}
