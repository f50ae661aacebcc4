package upstream

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/diverge-network/gateway/internal/toolheader"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// routing is what a stateless request says of itself in HTTP headers, and must say as its body does. The revision is in
// another header.
type routing struct {
	method string
	name   string // of what it is about
	named  bool
	plain  bool // the name is not encoded, whatever is in it
	params []toolheader.Header
}

// newRouting is the routing of a request to a server of which tools are known.
func newRouting(request *jsonrpc.Request, tools *toolheader.Tools) *routing {
	r := &routing{method: request.Method}
	member := ""
	switch request.Method {
	case codec.CallTool.Method():
		member = "name"
	case codec.ReadResource.Method():
		member = "uri"
	default:
		return r
	}
	raw, err := codec.Member(request.Params, member)
	if err != nil || raw == nil {
		return r // the server will say what it thinks of that
	}
	r.named = json.Unmarshal(raw, &r.name) == nil
	if r.named && request.Method == codec.CallTool.Method() {
		r.params = paramsOf(request.Params, tools.Find([]byte(r.name)))
	}
	return r
}

// paramsOf are the headers that repeat arguments of a call of the tool, which may be nil.
func paramsOf(params []byte, tool *toolheader.Tool) []toolheader.Header {
	if tool == nil {
		return nil
	}
	arguments, err := codec.Member(params, "arguments")
	if err != nil {
		return nil // the server will say what it thinks of that
	}
	return tool.Headers(arguments)
}

func (r *routing) set(header http.Header) {
	header.Set("Mcp-Method", r.method)
	switch {
	case !r.named:
		header.Del("Mcp-Name")
	case r.plain:
		header.Set("Mcp-Name", r.name)
	default:
		header.Set("Mcp-Name", toolheader.Encode(r.name))
	}
	for _, h := range r.params {
		header.Set(h.Name, h.Value)
	}
}

// spellable reports whether a name that was sent encoded can be sent as it is, in UTF-8. Servers of the Go SDK up to 1.8.0
// at least know no other form.
func (r *routing) spellable() bool {
	return r.named && !r.plain && toolheader.Encode(r.name) != r.name && strings.TrimSpace(r.name) == r.name &&
		!strings.ContainsFunc(r.name, func(c rune) bool { return c < ' ' || c == 0x7f })
}
