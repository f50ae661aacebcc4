package upstream

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

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
}

func newRouting(request *jsonrpc.Request) *routing {
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
	return r
}

func (r *routing) set(header http.Header) {
	header.Set("Mcp-Method", r.method)
	switch {
	case !r.named:
		header.Del("Mcp-Name")
	case r.plain:
		header.Set("Mcp-Name", r.name)
	default:
		header.Set("Mcp-Name", headerValue(r.name))
	}
}

const (
	encodedPrefix = "=?base64?"
	encodedSuffix = "?="
)

// headerValue is the form that a name has in a header: itself, or encoded if it is not what goes through every proxy
// unchanged, or looks like an encoded one.
func headerValue(name string) string {
	safe := strings.Trim(name, " ") == name && !(strings.HasPrefix(name, encodedPrefix) && strings.HasSuffix(name, encodedSuffix))
	for i := 0; safe && i < len(name); i++ {
		safe = ' ' <= name[i] && name[i] <= '~'
	}
	if safe {
		return name
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(name)) + encodedSuffix
}

// spellable reports whether a name that was sent encoded can be sent as it is, in UTF-8. Servers of the Go SDK up to 1.8.0
// at least know no other form.
func (r *routing) spellable() bool {
	return r.named && !r.plain && headerValue(r.name) != r.name && strings.TrimSpace(r.name) == r.name &&
		!strings.ContainsFunc(r.name, func(c rune) bool { return c < ' ' || c == 0x7f })
}
