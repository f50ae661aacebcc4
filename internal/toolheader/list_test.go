package toolheader

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// list is the result of a tools/list with these tools.
func list(tools ...string) []byte {
	return []byte(`{"tools":[` + strings.Join(tools, ",") + `]}`)
}

// tool is a tool t with a schema.
func tool(schema string) string { return `{"name":"t","inputSchema":` + schema + `}` }

// properties is a schema with these properties.
func properties(members string) string { return `{"type":"object","properties":{` + members + `}}` }

func read(t testing.TB, result []byte) Page {
	t.Helper()
	p, err := Read(result)
	if err != nil {
		t.Fatalf("%.200s: %v", result, err)
	}
	return p
}

// annotations are those of a tool, by header.
func annotations(tool *Tool) map[string]string {
	found := map[string]string{}
	var walk func(n *node)
	walk = func(n *node) {
		for i := range n.children {
			if c := &n.children[i]; c.header != "" {
				found[c.header] = strings.TrimPrefix(c.path, "params.arguments.")
			}
			walk(&n.children[i])
		}
	}
	if tool != nil {
		walk(&tool.root)
	}
	return found
}

func TestAnnotationsAreFoundWhereOnlyPropertiesLead(t *testing.T) {
	const region = `"type":"string","x-mcp-header":"Region"`
	for name, c := range map[string]struct {
		schema string
		want   map[string]string
	}{
		"one":                    {properties(`"region":{` + region + `}`), map[string]string{"Mcp-Param-Region": "region"}},
		"no type at the root":    {`{"properties":{"region":{` + region + `}}}`, map[string]string{"Mcp-Param-Region": "region"}},
		"annotation before type": {properties(`"a":{"x-mcp-header":"A","type":"integer"}`), map[string]string{"Mcp-Param-A": "a"}},
		"each type": {properties(`"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"integer","x-mcp-header":"B"},"c":{"type":"boolean","x-mcp-header":"c!"}`),
			map[string]string{"Mcp-Param-A": "a", "Mcp-Param-B": "b", "Mcp-Param-c!": "c"}},
		"nested": {properties(`"a":{"type":"object","properties":{"b":{"properties":{"c":{` + region + `}}},"d":{"type":"boolean","x-mcp-header":"D"}}}`),
			map[string]string{"Mcp-Param-Region": "a.b.c", "Mcp-Param-D": "a.d"}},
		"escapes":             {`{"\u0070roperties":{"\u0061":{"x-mcp-header":"\u0041","t\u0079pe":"str\u0069ng"}}}`, map[string]string{"Mcp-Param-A": "a"}},
		"a property so named": {properties(`"x-mcp-header":{"type":"string"},"a":{` + region + `}`), map[string]string{"Mcp-Param-Region": "a"}},
		"values that are no schemas": {properties(`"a":{` + region + `,"default":{"x-mcp-header":1},"enum":[{"x-mcp-header":""}],"const":{"properties":{"x":{"x-mcp-header":"Region"}}},"examples":[{"x-mcp-header":1}]}`),
			map[string]string{"Mcp-Param-Region": "a"}},
		"schemas elsewhere without annotations": {`{"properties":{"a":{` + region + `}},"items":[true,{}],"allOf":[{"properties":{"b":{}}}],"$defs":{"x":{"type":"string"}},"not":false,"dependencies":{"a":["b"]}}`,
			map[string]string{"Mcp-Param-Region": "a"}},
		"schemas that are none": {`{"properties":{"a":{` + region + `},"b":true,"c":[],"d":null},"items":1,"$defs":[]}`, map[string]string{"Mcp-Param-Region": "a"}},
		"mentioned only":        {properties(`"a":{"type":"string","description":"x-mcp-header"}`), map[string]string{}},
		"an array properties":   {`{"properties":[{` + region + `}]}`, map[string]string{}},
		"no schema":             {`"x-mcp-header"`, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := read(t, list(tool(c.schema)))
			if len(p.Invalid) > 0 || len(p.tools) != 1 || string(p.tools[0].name) != "t" {
				t.Fatalf("read as %+v", p)
			}
			if got := annotations(p.tools[0].tool); !maps.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
		})
	}
}

func TestAnnotationsThatBreakARuleMakeTheToolOneWithoutAny(t *testing.T) {
	const fine = `"fine":{"type":"string","x-mcp-header":"Fine"}`
	annotated := func(header, kind string) string {
		return tool(properties(fine + `,"a":{"type":` + kind + `,"x-mcp-header":` + header + `}`))
	}
	const stray = `{"type":"string","x-mcp-header":"Stray"}`
	invalid := map[string]string{
		"no name":                      annotated(`""`, `"string"`),
		"a space":                      annotated(`"a b"`, `"string"`),
		"a colon":                      annotated(`"a:b"`, `"string"`),
		"a line break":                 annotated(`"a\r\nb"`, `"string"`),
		"not ASCII":                    annotated(`"é"`, `"string"`),
		"a number for a name":          annotated(`1`, `"string"`),
		"null for a name":              annotated(`null`, `"string"`),
		"the type number":              annotated(`"A"`, `"number"`),
		"the type object":              annotated(`"A"`, `"object"`),
		"the type array":               annotated(`"A"`, `"array"`),
		"the type null":                annotated(`"A"`, `"null"`),
		"two types":                    annotated(`"A"`, `["string","null"]`),
		"no type":                      tool(properties(fine + `,"a":{"x-mcp-header":"A"}`)),
		"the same name":                annotated(`"Fine"`, `"string"`),
		"the same but case":            annotated(`"fINE"`, `"integer"`),
		"at the root":                  tool(`{"type":"string","x-mcp-header":"A","properties":{` + fine + `}}`),
		"a member twice":               tool(properties(fine + `,"a":{"type":"string","type":"string"}`)),
		"a property twice":             tool(properties(fine + `,"fine":{"type":"string"}`)),
		"a name twice":                 `{"name":"t","inputSchema":` + properties(fine) + `,"inputSchema":{}}`,
		"too deep":                     tool(strings.Repeat(`{"properties":{"a":`, maxDepth) + stray + strings.Repeat(`}}`, maxDepth)),
		"below properties below items": tool(`{"items":{"properties":{"a":` + stray + `}},"properties":{` + fine + `}}`),
	}
	for _, one := range []string{"items", "prefixItems", "contains", "additionalProperties", "unevaluatedProperties", "unevaluatedItems",
		"propertyNames", "oneOf", "anyOf", "allOf", "not", "if", "then", "else"} {
		invalid[one] = tool(`{"properties":{` + fine + `},"` + one + `":` + stray + `}`)
		invalid["array "+one] = tool(`{"properties":{` + fine + `,"b":{"` + one + `":[{},` + stray + `]}}}`)
	}
	for _, many := range []string{"patternProperties", "dependentSchemas", "$defs", "definitions"} {
		invalid[many] = tool(`{"properties":{` + fine + `},"` + many + `":{"x":` + stray + `}}`)
	}
	var crowd []string
	for i := range maxParams + 1 {
		crowd = append(crowd, fmt.Sprintf(`"p%d":{"type":"string","x-mcp-header":"H%d"}`, i, i))
	}
	invalid["too many"] = tool(properties(strings.Join(crowd, ",")))
	for name, definition := range invalid {
		t.Run(name, func(t *testing.T) {
			p := read(t, list(definition, `{"name":"other","inputSchema":`+properties(fine)+`}`))
			if len(p.Invalid) != 1 || p.Invalid[0].Name != "t" || p.Invalid[0].Reason == nil {
				t.Fatalf("invalid are %v", p.Invalid)
			}
			if len(p.tools) != 2 || p.tools[0].tool != nil || p.tools[1].tool == nil {
				t.Errorf("read as %v", p.tools)
			}
		})
	}
	if p := read(t, list(tool(properties(strings.Join(crowd[1:], ","))))); len(annotations(p.tools[0].tool)) != maxParams {
		t.Errorf("%d annotations are too many: %v", maxParams, p.Invalid)
	}
}

func TestAListIsReadStrictly(t *testing.T) {
	for _, bad := range []string{``, `{`, `[]`, `null`, `{}`, `{"tools":{}}`, `{"tools":null}`, `{"tools":[]}x`, `{"tools":[],"tools":[]}`,
		`{"tools":[],"nextCursor":"a","nextCursor":"b"}`, `{"tools":[}`, `{"tools":[{"name":"t"]}`, `{"tools":["\x"]}`, "{\"tools\":[\"\xff\"]}"} {
		if p, err := Read([]byte(bad)); err == nil {
			t.Errorf("%s is read as %+v", bad, p)
		}
	}
	p := read(t, []byte(`{"_meta":{"tools":1},"tools":[1,null,{},{"name":1},{"name":"a","name":"b"},{"name":"n\u0061me"}],"nextCursor":"\u0031"}`))
	if len(p.tools) != 1 || string(p.tools[0].name) != "name" || string(p.Next) != `"\u0031"` || p.Annotated() {
		t.Errorf("read as %+v", p)
	}
	for _, last := range []string{`null`, `1`, `{}`} {
		if p := read(t, []byte(`{"tools":[],"nextCursor":`+last+`}`)); p.Next != nil {
			t.Errorf("%s is a cursor", last)
		}
	}
}

func TestToolsAreKnownAsTheyWereListedLast(t *testing.T) {
	named := func(name, header string) string {
		return `{"name":"` + name + `","inputSchema":` + properties(`"a":{"type":"string","x-mcp-header":"`+header+`"}`) + `}`
	}
	tools := New(Limits{Tools: 3, Bytes: 1 << 10})
	learn := func(whole bool, listed ...string) string {
		p := read(t, list(listed...))
		tools.Learn(&p, whole)
		var known []string
		for name, tool := range tools.known {
			for header := range annotations(tool) {
				known = append(known, name+":"+strings.TrimPrefix(header, prefix))
			}
		}
		slices.Sort(known)
		return strings.Join(known, " ")
	}
	for _, step := range []struct {
		whole  bool
		listed []string
		want   string
	}{
		{true, []string{`{"name":"x"}`}, ""},
		{false, []string{named("a", "A"), named("b", "B")}, "a:A b:B"},
		{false, []string{named("c", "C")}, "a:A b:B c:C"},
		{false, []string{named("d", "D")}, "a:A b:B c:C"}, // over the number
		{false, []string{named("b", "B2"), `{"name":"a"}`}, "b:B2 c:C"},
		{false, []string{`{"name":"c","inputSchema":{"x-mcp-header":1}}`}, "b:B2"},
		{false, []string{named("e", strings.Repeat("e", 1<<10))}, "b:B2"}, // over the bytes
		{true, []string{named("f", "F")}, "f:F"},
		{true, nil, ""},
	} {
		if got := learn(step.whole, step.listed...); got != step.want {
			t.Fatalf("after %v: %s, want %s", step.listed, got, step.want)
		}
	}
	if learn(true, named("a", "A")); tools.Find([]byte("a")) == nil || tools.Find([]byte("b")) != nil || tools.Empty() {
		t.Error("a is not known, or b is")
	}
	if tools.Forget(); tools.Find([]byte("a")) != nil || !tools.Empty() || tools.bytes != 0 {
		t.Error("a is known still")
	}
}

func TestToolsAreTheSameByTheirAnnotations(t *testing.T) {
	one := func(schema string) *Tool { p := read(t, list(tool(schema))); return p.tools[0].tool }
	a := one(properties(`"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"B"}`))
	if !a.Same(one(properties(`"b":{"x-mcp-header":"B","type":"integer"},"c":{},"a":{"type":"string","x-mcp-header":"A"}`))) {
		t.Error("the order counts")
	}
	for _, other := range []*Tool{nil, one(properties(`"a":{"type":"string","x-mcp-header":"A"}`)),
		one(properties(`"a":{"type":"string","x-mcp-header":"B"},"b":{"type":"string","x-mcp-header":"A"}`))} {
		if a.Same(other) || other.Same(a) {
			t.Errorf("the same as %v", annotations(other))
		}
	}
	if none := (*Tool)(nil); !none.Same(nil) {
		t.Error("none is not none")
	}
}
