package toolheader

import (
	"strings"
	"testing"
)

// schemaOfAll has a property of each type, one of them below another.
const schemaOfAll = `{"properties":{"s":{"type":"string","x-mcp-header":"S"},"i":{"type":"integer","x-mcp-header":"I"},` +
	`"b":{"type":"boolean","x-mcp-header":"B"},"o":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"O-X"}}},"free":{"type":"string"}}}`

func all(t testing.TB) *Tool {
	t.Helper()
	p := read(t, list(tool(schemaOfAll)))
	if p.tools[0].tool == nil {
		t.Fatal(p.Invalid)
	}
	return p.tools[0].tool
}

// head is a request's headers, "name: value" each; spaces count.
type head []string

func (h head) values(name string) (values [][]byte) {
	for _, line := range h {
		n, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(n, name) {
			values = append(values, []byte(value))
		}
	}
	return values
}

func TestHeadersAreComparedWithTheArguments(t *testing.T) {
	const big = "9007199254740993" // that JavaScript does not tell from ...992
	for name, c := range map[string]struct {
		arguments string
		head      head
		fault     string // a part of it; empty: there is none
	}{
		"no arguments":                         {"", nil, ""},
		"null for arguments":                   {`null`, nil, ""},
		"an array for arguments":               {`["s"]`, nil, ""},
		"a string":                             {`{"s":"x"}`, head{"Mcp-Param-S:x"}, ""},
		"white space around":                   {`{"s":"x"}`, head{"Mcp-Param-S: \tx\t "}, ""},
		"another case of the name":             {`{"s":"x"}`, head{"mcp-param-s:x"}, ""},
		"another case of the value":            {`{"s":"x"}`, head{"Mcp-Param-S:X"}, "Mcp-Param-S differs from params.arguments.s"},
		"a string, missing":                    {`{"s":"x"}`, nil, "Mcp-Param-S is missing: it must repeat params.arguments.s"},
		"a string, twice":                      {`{"s":"x"}`, head{"Mcp-Param-S:x", "Mcp-Param-S:x"}, "two Mcp-Param-S headers"},
		"an empty string":                      {`{"s":""}`, head{"Mcp-Param-S:"}, ""},
		"an empty string, encoded":             {`{"s":""}`, head{"Mcp-Param-S:=?base64??="}, ""},
		"an empty string, missing":             {`{"s":""}`, nil, "Mcp-Param-S is missing"},
		"escapes":                              {`{"\u0073":"\u0078\/\n"}`, head{"Mcp-Param-S:" + encoded("x/\n")}, ""},
		"encoded":                              {`{"s":"Hello"}`, head{"Mcp-Param-S:=?base64?SGVsbG8=?="}, ""},
		"encoded without padding":              {`{"s":"Hello"}`, head{"Mcp-Param-S:=?base64?SGVsbG8?="}, "not in padded Base64"},
		"encoded with other characters":        {`{"s":"Hello"}`, head{"Mcp-Param-S:=?base64?SGVs!!!bG8=?="}, "not in padded Base64"},
		"no prefix":                            {`{"s":"SGVsbG8=?="}`, head{"Mcp-Param-S:SGVsbG8=?="}, ""},
		"no suffix":                            {`{"s":"=?base64?SGVsbG8="}`, head{"Mcp-Param-S:=?base64?SGVsbG8="}, ""},
		"UTF-8, encoded":                       {`{"s":"世界"}`, head{"Mcp-Param-S:" + encoded("世界")}, ""},
		"UTF-8, as it is":                      {`{"s":"世界"}`, head{"Mcp-Param-S:世界"}, "characters that no header may have"},
		"a lone surrogate":                     {`{"s":"\ud800"}`, head{"Mcp-Param-S:" + encoded("\uFFFD")}, ""},
		"null":                                 {`{"s":null}`, nil, ""},
		"null and a header":                    {`{"s":null}`, head{"Mcp-Param-S:x"}, "Mcp-Param-S is there, but params.arguments.s is not"},
		"absent and a header":                  {`{}`, head{"Mcp-Param-S:x"}, "Mcp-Param-S is there, but params.arguments.s is not"},
		"absent and an empty header":           {`{}`, head{"Mcp-Param-S:"}, "Mcp-Param-S is there"},
		"an integer":                           {`{"i":42}`, head{"Mcp-Param-I:42"}, ""},
		"an integer as a decimal":              {`{"i":42}`, head{"Mcp-Param-I:42.0"}, ""},
		"a decimal as an integer":              {`{"i":42.0}`, head{"Mcp-Param-I:42"}, ""},
		"an exponent":                          {`{"i":4.2e1}`, head{"Mcp-Param-I:42"}, ""},
		"a negative integer":                   {`{"i":-7}`, head{"Mcp-Param-I:-7"}, ""},
		"zero":                                 {`{"i":0}`, head{"Mcp-Param-I:-0"}, ""},
		"another integer":                      {`{"i":42}`, head{"Mcp-Param-I:43"}, "Mcp-Param-I differs"},
		"an integer, missing":                  {`{"i":0}`, nil, "Mcp-Param-I is missing"},
		"a plus":                               {`{"i":42}`, head{"Mcp-Param-I:+42"}, "Mcp-Param-I differs"},
		"hexadecimal":                          {`{"i":42}`, head{"Mcp-Param-I:0x2a"}, "Mcp-Param-I differs"},
		"a leading zero":                       {`{"i":42}`, head{"Mcp-Param-I:042"}, "Mcp-Param-I differs"},
		"two numbers":                          {`{"i":42}`, head{"Mcp-Param-I:42 42"}, "Mcp-Param-I differs"},
		"infinity":                             {`{"i":1e999}`, head{"Mcp-Param-I:Inf"}, "Mcp-Param-I differs"},
		"an empty number":                      {`{"i":0}`, head{"Mcp-Param-I:"}, "Mcp-Param-I differs"},
		"the largest that is safe":             {`{"i":9007199254740991}`, nil, "Mcp-Param-I is missing"},
		"one that is not":                      {`{"i":` + big + `}`, nil, ""},
		"one that is not, repeated":            {`{"i":` + big + `}`, head{"Mcp-Param-I:" + big}, ""},
		"one that is not, its neighbour":       {`{"i":` + big + `}`, head{"Mcp-Param-I:9007199254740992"}, "Mcp-Param-I differs"},
		"a fraction":                           {`{"i":1.5}`, nil, ""},
		"a fraction, repeated":                 {`{"i":1.50}`, head{"Mcp-Param-I:1.5"}, ""},
		"a fraction, cut":                      {`{"i":1.5}`, head{"Mcp-Param-I:1"}, "Mcp-Param-I differs"},
		"a boolean":                            {`{"b":false}`, head{"Mcp-Param-B:false"}, ""},
		"a boolean in another case":            {`{"b":true}`, head{"Mcp-Param-B:True"}, "Mcp-Param-B differs"},
		"a boolean, missing":                   {`{"b":false}`, nil, "Mcp-Param-B is missing"},
		"a number for a string":                {`{"s":5}`, head{"Mcp-Param-S:5"}, ""},
		"a string for a number":                {`{"i":"42"}`, head{"Mcp-Param-I:42.0"}, "Mcp-Param-I differs"},
		"an object for a string":               {`{"s":{}}`, nil, ""},
		"an object for a string, and a header": {`{"s":{}}`, head{"Mcp-Param-S:{}"}, "Mcp-Param-S differs"},
		"nested":                               {`{"o":{"y":{"x":"1"},"x":"2"}}`, head{"Mcp-Param-O-X:2"}, ""},
		"nested, missing":                      {`{"o":{"x":"2"}}`, nil, "Mcp-Param-O-X is missing: it must repeat params.arguments.o.x"},
		"nested in no object":                  {`{"o":"x"}`, nil, ""},
		"elsewhere":                            {`{"x":"2","free":"y"}`, nil, ""},
		"of another tool":                      {`{}`, head{"Mcp-Param-Other:2"}, ""},
		"twice in the body":                    {`{"s":"x","s":"x"}`, head{"Mcp-Param-S:x"}, "params.arguments.s is there twice"},
		"twice, but not that":                  {`{"free":"x","free":"y"}`, nil, ""},
		"an object twice":                      {`{"o":{},"o":{"x":"1"}}`, nil, "params.arguments.o is there twice"},
		"all": {`{"b":true,"o":{"x":"é"},"i":-1,"s":"a b"}`,
			head{"Mcp-Param-S:a b", "Mcp-Param-I:-1", "Mcp-Param-B:true", "Mcp-Param-O-X:" + encoded("é")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := all(t).Fault([]byte(c.arguments), c.head.values)
			if (got == "") != (c.fault == "") || !strings.Contains(got, c.fault) {
				t.Errorf("the fault is %q, want %q", got, c.fault)
			}
		})
	}
}

func TestHeadersOfACall(t *testing.T) {
	for arguments, want := range map[string]string{
		"": "", `null`: "", `{}`: "", `[]`: "", `"x"`: "",
		`{"s":"x","i":42,"b":true,"o":{"x":"é"},"free":"f"}`: "Mcp-Param-B:true Mcp-Param-I:42 Mcp-Param-O-X:" + encoded("é") + " Mcp-Param-S:x",
		`{"s":null,"i":null,"b":null,"o":null}`:              "",
		`{"s":"","i":42.0,"b":false,"o":{}}`:                 "Mcp-Param-B:false Mcp-Param-I:42 Mcp-Param-S:=?base64??=",
		`{"i":-1e3}`:                                         "Mcp-Param-I:-1000",
		`{"i":-0}`:                                           "Mcp-Param-I:0",
		`{"i":1.5}`:                                          "",
		`{"i":9007199254740991}`:                             "Mcp-Param-I:9007199254740991",
		`{"i":9007199254740992}`:                             "",
		`{"i":1e999}`:                                        "",
		`{"s":[],"i":{},"b":[true]}`:                         "",
		`{"s":"a\r\nX-Evil: 1"}`:                             "Mcp-Param-S:" + encoded("a\r\nX-Evil: 1"),
		`{"s":5,"b":"x"}`:                                    "Mcp-Param-B:x Mcp-Param-S:5",
		`{"s":"x","s":"y"}`:                                  "",
		`{"o":{"x":"1"},"o":{"x":"2"}}`:                      "",
	} {
		var got []string
		for _, h := range all(t).Headers([]byte(arguments)) {
			got = append(got, h.Name+":"+h.Value)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has the headers %v, want %s", arguments, got, want)
		}
	}
}
