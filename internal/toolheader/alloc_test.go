//go:build !race

package toolheader

import "testing"

// TestAllocations holds that a call is compared with its headers without any, and
// that a list without annotations is looked through without any.
func TestAllocations(t *testing.T) {
	tool := all(t)
	arguments := []byte(`{"free":{"x":[1,2]},"s":"a\nb","i":42.0,"b":true,"o":{"x":"plain"}}`)
	values := map[string][][]byte{"Mcp-Param-S": {[]byte("x")}, "Mcp-Param-I": {[]byte("42")}, "Mcp-Param-B": {[]byte("true")}, "Mcp-Param-O-X": {[]byte("plain")}}
	look := func(name string) [][]byte { return values[name] }
	want := "Mcp-Param-S differs from params.arguments.s"
	if fault := tool.Fault(arguments, look); fault != want {
		t.Fatal(fault)
	}
	values["Mcp-Param-S"] = [][]byte{[]byte("=?base64?YQpi?=")}
	if n := testing.AllocsPerRun(1000, func() {
		if fault := tool.Fault(arguments, look); fault != "" {
			t.Fatal(fault)
		}
	}); n > 1 { // what the Base64 says
		t.Errorf("%v allocations for a call", n)
	}
	result := list(`{"name":"t","inputSchema":{}}`)
	if n := testing.AllocsPerRun(1000, func() { _ = Mentioned(result) }); n > 0 {
		t.Errorf("%v allocations for a list", n)
	}
}
