package toolheader

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// naive finds the annotations that only properties lead to, as plainly as can be.
func naive(schema any, path string, found map[string]string) {
	s, _ := schema.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	for name, property := range properties {
		p, _ := property.(map[string]any)
		if header, ok := p["x-mcp-header"].(string); ok {
			found[prefix+header] = strings.TrimPrefix(path+"."+name, ".")
		}
		naive(property, path+"."+name, found)
	}
}

// FuzzRead gives any bytes as a list: there is no panic, what is found keeps the
// rules, and is what a plain reader finds.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{schemaOfAll, properties(`"a":{"type":"string","x-mcp-header":"A"}`),
		`{"items":{"type":"string","x-mcp-header":"A"}}`, `{"properties":{"a":{"x-mcp-header":"A","type":"string","properties":{"b":{"type":"integer","x-mcp-header":"a"}}}}}`} {
		f.Add(list(tool(seed), `{"name":"\ud800"}`))
	}
	f.Add([]byte(`{"tools":[{"name":"x-mcp-header"}],"nextCursor":"x"}`))
	f.Fuzz(func(t *testing.T, result []byte) {
		p, err := Read(result)
		if err != nil {
			return
		}
		var plain struct{ Tools []map[string]any }
		alike := json.Unmarshal(result, &plain) == nil && len(plain.Tools) == len(p.tools)
		for i := range p.tools {
			tool := p.tools[i].tool
			if tool == nil {
				continue
			}
			found := annotations(tool)
			if len(found) == 0 || len(found) > maxParams {
				t.Fatalf("%d annotations", len(found))
			}
			lower := map[string]bool{}
			for header := range found {
				if !strings.HasPrefix(header, prefix) || !isToken([]byte(header)) || lower[strings.ToLower(header)] {
					t.Fatalf("the headers are %v", slices.Collect(maps.Keys(found)))
				}
				lower[strings.ToLower(header)] = true
			}
			if !alike {
				continue
			}
			want := map[string]string{}
			naive(plain.Tools[i]["inputSchema"], "", want)
			if !maps.Equal(found, want) {
				t.Fatalf("found %v, a plain reader %v", found, want)
			}
		}
	})
}

// FuzzCalls gives any arguments: the headers made of them are those that they have
// to come with, and no other value of one does.
func FuzzCalls(f *testing.F) {
	for _, seed := range []string{`{"s":"x","i":42,"b":true,"o":{"x":"é"}}`, `{"s":"\ud800 ","i":-0.0}`, `{"i":9007199254740993}`, `{"o":{"x":{}}}`, `[]`, `{"s":"a","s":"b"}`} {
		f.Add([]byte(seed))
	}
	tool := all(f)
	f.Fuzz(func(t *testing.T, arguments []byte) {
		if !json.Valid(arguments) || !utf8.Valid(arguments) { // which who takes a call has checked
			return
		}
		made := tool.Headers(arguments)
		values := map[string][][]byte{}
		for _, h := range made {
			if !visible([]byte(h.Value)) || h.Value != strings.Trim(h.Value, " \t") {
				t.Fatalf("the header %q", h)
			}
			values[h.Name] = [][]byte{[]byte(h.Value)}
		}
		look := func(name string) [][]byte { return values[name] }
		fault := tool.Fault(arguments, look)
		if fault != "" && (len(made) > 0 || !strings.Contains(fault, "there twice") && !strings.Contains(fault, "cannot be compared")) {
			t.Fatalf("%q for the headers %q of %s", fault, made, arguments)
		}
		for _, h := range made {
			values[h.Name] = [][]byte{[]byte(h.Value + "x")}
			if tool.Fault(arguments, look) == "" {
				t.Fatalf("%sx passes for %s in %s", h.Value, h.Name, arguments)
			}
			delete(values, h.Name)
			if tool.Fault(arguments, look) == "" {
				t.Fatalf("%s may be missing in %s", h.Name, arguments)
			}
			values[h.Name] = [][]byte{[]byte(h.Value)}
		}
	})
}
