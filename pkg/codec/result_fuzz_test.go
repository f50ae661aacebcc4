package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"
)

func FuzzAppendResults(f *testing.F) {
	for _, s := range objects {
		for k := range kindEnd {
			f.Add([]byte(s), uint8(k))
		}
	}
	for _, s := range badJSON {
		f.Add([]byte(`{"_meta":{`+s), uint8(0))
		f.Add([]byte(`{"tools":[{"\u`+s), uint8(0))
	}
	f.Fuzz(func(t *testing.T, result []byte, kind uint8) {
		k := Kind(kind)
		before := bytes.Clone(result)
		modern, modernErr := modernResult(result, k, []byte(`{"name":"g"}`))
		legacy, legacyErr := legacyResult(result, k)
		a, err := decodedResult(result, k)
		shape := &a.shape
		if !bytes.Equal(result, before) {
			t.Error("the input was written to")
		}
		if CheckJSON(result) != nil {
			if err == nil {
				t.Errorf("%q is no JSON", result)
			}
			return
		}
		all, object := members(result)
		if err == nil && (!object || legacyErr != nil && !shape.inputRequired) || err != nil && (modernErr == nil || legacyErr == nil) {
			t.Fatalf("%q: %v, %v, %v", result, err, modernErr, legacyErr)
		}
		if err != nil {
			return
		}
		if twice := shape.unique(resultMembers); (modernErr == nil) != (twice == nil) {
			t.Errorf("%q: %v, %v", result, modernErr, twice)
		}
		if modernErr == nil {
			sameModern(t, result, modern, slices.Clone(all), k, shape)
		}
		switch {
		case legacyErr == nil:
			sameLegacy(t, result, legacy, all, k)
		case errors.Is(legacyErr, ErrInputRequired) != shape.inputRequired:
			t.Errorf("%q: %q, %v", result, legacy, legacyErr)
		}
		// What DecodeAnswer takes reaches a client of sessions, unless it asks for input.
		if _, err := DecodeAnswer(k, AppendResult(nil, result)); err == nil && !k.Many() && legacyErr != nil && !errors.Is(legacyErr, ErrInputRequired) {
			t.Errorf("%q is an answer: %v", result, legacyErr)
		}
	})
}

func sameModern(t *testing.T, result, got []byte, want []member, k Kind, shape *shape) {
	t.Helper()
	set := func(name, value string) {
		switch i := indexOf(want, name); {
		case i < 0:
			want = append(want, named(name, value))
		case want[i].value == "null":
			want[i].value = value
		}
	}
	if shape.complete {
		set("resultType", `"complete"`)
		if k == ListTools || k == ListResources || k == ReadResource {
			set("ttlMs", `0`)
			set("cacheScope", `"private"`)
		}
		if structured := shape.members[memberStructured].of(result); k == CallTool && structured != nil {
			set("content", textOf(t, got, structured))
		}
	}
	const info = `{"` + MetaServerInfo + `":{"name":"g"}}`
	set("_meta", info)
	i := indexOf(want, "_meta")
	meta, object := members([]byte(want[i].value))
	if object && indexOf(meta, MetaServerInfo) < 0 {
		after, _ := members(got)
		where := indexOf(after, "_meta")
		if where < 0 {
			t.Fatalf("%q became %q", result, got)
		}
		sameMembers(t, want[i].value, []byte(after[where].value), append(meta, named(MetaServerInfo, `{"name":"g"}`)))
		want[i].value = after[where].value
	}
	sameMembers(t, string(result), got, want)
}

// textOf returns the content of got if that has structured as its text.
func textOf(t *testing.T, got, structured []byte) string {
	t.Helper()
	all, _ := members(got)
	i := indexOf(all, "content")
	if i < 0 {
		return ""
	}
	var content []struct{ Type, Text string }
	if all[i].value != "null" && json.Unmarshal([]byte(all[i].value), &content) == nil && len(content) == 1 && content[0].Text == string(structured) && content[0].Type == "text" {
		return all[i].value
	}
	return ""
}

func sameLegacy(t *testing.T, result, got []byte, want []member, k Kind) {
	t.Helper()
	switch structured := indexOf(want, "structuredContent"); {
	case k == CallTool && structured >= 0:
		text := textOf(t, got, []byte(want[structured].value))
		content := indexOf(want, "content")
		remove := want[structured].value[0] != '{'
		switch {
		case content < 0 && remove:
			want[structured] = named("content", text)
			remove = false
		case content < 0:
			want = append(want, named("content", text))
		case want[content].value == "null":
			want[content].value = text
		}
		if remove {
			want = slices.Delete(want, structured, structured+1)
		}
		sameMembers(t, string(result), got, want)
	case k == ListTools:
		sameLegacyTools(t, result, got, want)
	case !bytes.Equal(result, got):
		t.Errorf("%q became %q", result, got)
	}
}

func sameLegacyTools(t *testing.T, result, got []byte, want []member) {
	t.Helper()
	after, _ := members(got)
	if len(after) != len(want) {
		t.Fatalf("%q became %q", result, got)
	}
	for i := range want {
		if want[i].name != "tools" {
			continue
		}
		var old, now []json.RawMessage
		if json.Unmarshal([]byte(want[i].value), &old) != nil {
			continue
		}
		if err := json.Unmarshal([]byte(after[i].value), &now); err != nil || len(old) != len(now) {
			t.Fatalf("%q became %q: %v", result, got, err)
		}
		for j := range old {
			tool, object := members(old[j])
			if !object {
				if !bytes.Equal(old[j], now[j]) {
					t.Errorf("%q became %q", old[j], now[j])
				}
				continue
			}
			tool = slices.DeleteFunc(tool, func(m member) bool { return m.name == "outputSchema" && !ofObjects(m.value) })
			sameMembers(t, string(old[j]), now[j], tool)
		}
		want[i].value = after[i].value
	}
	sameMembers(t, string(result), got, want)
}

func ofObjects(schema string) bool {
	all, _ := members([]byte(schema))
	all = slices.DeleteFunc(all, func(m member) bool { return m.name != "type" })
	return len(all) == 1 && all[0].value[0] == '"' && string(unquote([]byte(all[0].value))) == "object"
}
