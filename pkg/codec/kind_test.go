package codec

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

func TestR3_KindsAndPaths(t *testing.T) {
	f := func(k Kind, number uint8, name, method string, many bool) {
		t.Helper()
		if uint8(k) != number || !k.Known() {
			t.Errorf("%v is %d, known %v; want %d, true", k, uint8(k), k.Known(), number)
		}
		if k.Name() != name || k.Method() != method || k.Many() != many || k.String() != name {
			t.Errorf("kind %d: %q %q %v %q", number, k.Name(), k.Method(), k.Many(), k.String())
		}
		if got, want := string(AppendPath(nil, k, 258)), "/mcp/"+name+"/258"; got != want {
			t.Errorf("path %q, want %q", got, want)
		}
		got, ok := KindOfMethod([]byte(method))
		if ok != (method != "") || ok && got != k {
			t.Errorf("KindOfMethod(%q) = %v, %v", method, got, ok)
		}
	}
	f(ListTools, 0, "list-tools", "tools/list", false)
	f(ListResources, 1, "list-resources", "resources/list", false)
	f(CallTool, 2, "call-tool", "tools/call", false)
	f(ReadResource, 3, "read-resource", "resources/read", false)
	f(Notifications, 4, "notifications", "", true)
	if KindCount != 5 {
		t.Errorf("KindCount = %d", KindCount)
	}
}

func TestR3_KindsNotServed(t *testing.T) {
	for n := KindCount; n <= math.MaxUint8; n++ {
		k := Kind(n)
		if k.Known() || k.Name() != "" || k.Method() != "" || k.Many() || k.String() != fmt.Sprintf("kind(%d)", n) {
			t.Errorf("kind %d: %v %q %q %v %q", n, k.Known(), k.Name(), k.Method(), k.Many(), k)
		}
		if _, err := k.Payload(nil); !errors.As(err, new(*UnknownKindError)) {
			t.Errorf("kind %d: payload failure %v", n, err)
		}
	}
	for _, method := range []string{"", "tools", "tools/lis", "tools/list/", "Tools/list", "prompts/list"} {
		if k, ok := KindOfMethod([]byte(method)); ok {
			t.Errorf("KindOfMethod(%q) = %v", method, k)
		}
	}
}

func TestR4_PayloadOfParams(t *testing.T) {
	f := func(k Kind, params, want string) {
		t.Helper()
		got, err := k.Payload([]byte(params))
		if err != nil || string(got) != want {
			t.Errorf("%v.Payload(%q) = %q, %v; want %q", k, params, got, err, want)
		}
	}
	for _, k := range []Kind{ListTools, ListResources} {
		f(k, "", "null")
		f(k, "null", "null")
		f(k, "{}", "{}")
		f(k, " {\"cursor\" : \"x\"}\n", `{"cursor" : "x"}`)
	}
	for _, k := range []Kind{CallTool, ReadResource} {
		f(k, "{}", "{}")
		f(k, `{"name":"t","arguments":{"n":9007199254740993}}`, `{"name":"t","arguments":{"n":9007199254740993}}`)
	}
	f(Notifications, "", "")
}

func TestR4_PayloadRefused(t *testing.T) {
	f := func(k Kind, params string) {
		t.Helper()
		_, err := k.Payload([]byte(params))
		refused, ok := errors.AsType[*ParamsError](err)
		if !ok || refused.Kind != k || refused.Error() == "" {
			t.Errorf("%v.Payload(%q) failed with %v", k, params, err)
		}
	}
	for _, k := range []Kind{ListTools, ListResources, CallTool, ReadResource} {
		f(k, "[]")
		f(k, `"{}"`)
		f(k, "0")
		f(k, "true")
	}
	for _, k := range []Kind{CallTool, ReadResource} {
		f(k, "")
		f(k, "null")
	}
	f(Notifications, "{}")
}

func TestR4_PayloadCannotBeAppendedInPlace(t *testing.T) {
	first, _ := ListTools.Payload(nil)
	_ = append(first, "ified"...)
	second, _ := ListTools.Payload(nil)
	if string(second) != "null" || cap(second) != len(second) {
		t.Errorf("payload is %q with capacity %d", second, cap(second))
	}
}

func TestA2_CanonicalChannels(t *testing.T) {
	f := func(segment string, channel uint32) {
		t.Helper()
		for k := range Kind(KindCount) {
			path := "/mcp/" + k.Name() + "/" + segment
			gotKind, got, ok := ParsePath([]byte(path))
			if !ok || gotKind != k || got != channel {
				t.Errorf("ParsePath(%q) = %v, %d, %v", path, gotKind, got, ok)
			}
			if back := string(AppendPath(nil, k, channel)); back != path {
				t.Errorf("AppendPath = %q, want %q", back, path)
			}
		}
	}
	f("0", 0)
	f("1", 1)
	f("10", 10)
	f("258", 258)
	f("4294967295", math.MaxUint32)
}

func TestA2_OtherPathsAreRefused(t *testing.T) {
	for _, path := range []string{
		"", "/", "/mcp", "/mcp/", "/mcp/list-tools", "/mcp/list-tools/", "mcp/list-tools/1", "//mcp/list-tools/1",
		"/mcp//1", "/mcp/list-tools//1", "/mcp/list-tools/1/", "/mcp/list-tools/1/2", "/mcp/list-tools/ 1", "/mcp/list-tools/1 ",
		"/mcp/list-tools/-1", "/mcp/list-tools/+1", "/mcp/list-tools/01", "/mcp/list-tools/00", "/mcp/list-tools/0x1",
		"/mcp/list-tools/1.0", "/mcp/list-tools/1e2", "/mcp/list-tools/1_0", "/mcp/list-tools/%31", "/mcp/list-tools/\u0661",
		"/mcp/list-tools/4294967296", "/mcp/list-tools/9999999999", "/mcp/list-tools/42949672950",
		"/mcp/list-tools/18446744073709551617", "/mcp/list-tools/1?x", "/mcp/List-tools/1", "/mcp/list%2dtools/1",
		"/mcp/tools/1", "/mcp/vault/1", "/requests",
	} {
		if k, channel, ok := ParsePath([]byte(path)); ok {
			t.Errorf("ParsePath(%q) = %v, %d", path, k, channel)
		}
	}
}
