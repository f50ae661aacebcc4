package inside

import (
	"bytes"
	"encoding/json"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/toolheader"
	"github.com/diverge-network/gateway/pkg/codec"
)

// Headers by which an intermediary routes a modern request without reading its
// body, as fasthttp normalizes them.
const (
	headerMethod = "Mcp-Method"
	headerName   = "Mcp-Name"
)

// modern serves a message of the modern era. Its session header, if it has one,
// means nothing.
func (h *Handler) modern(x *exchange) {
	p := &x.posting
	m := &p.message
	if m.Form == codec.FormNotification {
		// Some clients send notifications/cancelled, but what cancels a request is
		// the end of its connection. The id it names may be anybody's.
		x.response.SetStatusCode(fasthttp.StatusAccepted)
		return
	}
	refused, d := judgeModern(&x.request.Header, p)
	switch {
	case refused != "":
		d.id = m.ID
		h.refuse(x, refused, d)
	case !servedModern(m.Method):
		h.reply(x, methodNotFound(m), statusOf(modern, codeMethodNotFound))
	case string(m.Method) == methodListen:
		h.subscribe(x, p.container, m)
	default:
		if fault := h.faultOfParams(&x.request.Header, p); fault != "" {
			h.refuse(x, ReasonHeaderMismatch, detail{id: m.ID, cause: fault})
			return
		}
		c, err := h.mux.Enter(p.container) // begins with its first accepted request (protocol G5)
		if err != nil {
			h.refuseEntry(x, err, m.ID)
			return
		}
		defer x.exit(c)
		h.request(x, c)
	}
}

// servedModern reports whether a method is one of the modern era that we serve.
func servedModern(method []byte) bool {
	switch string(method) {
	case methodDiscover, methodTemplates, methodListen:
		return true
	}
	_, served := codec.KindOfMethod(method)
	return served
}

// judgeModern holds a modern request to its rules, in the order in which clients
// expect them.
func judgeModern(header *fasthttp.RequestHeader, p *posting) (Reason, detail) {
	m, meta, v := &p.message, &p.meta, &p.stated
	if p.metaErr != nil {
		return ReasonRequestMeta, detail{cause: p.metaErr.Error()}
	}
	if fault := faultOfMeta(meta); fault != "" {
		return ReasonRequestMeta, detail{cause: fault}
	}
	claimed, _ := textOf(meta.ProtocolVersion)
	switch {
	case v.times > 1:
		return ReasonHeaderMismatch, detail{cause: "there are two " + headerRevision + " headers"}
	case v.times == 1 && !bytes.Equal(v.name, claimed):
		return ReasonHeaderMismatch, detail{cause: headerRevision + " differs from the protocolVersion of params._meta"}
	case string(claimed) != modernRevision:
		return ReasonRevision, detail{cause: "a request without a session is of " + modernRevision, data: unsupportedData(meta.ProtocolVersion)}
	case v.times == 0:
		return ReasonHeaderMismatch, detail{cause: headerRevision + " is missing"}
	}
	if fault := faultOfHeader(header, headerMethod, m.Method, "method", false); fault != "" {
		return ReasonHeaderMismatch, detail{cause: fault}
	}
	raw, member := routed(m)
	if member == "" {
		return "", detail{}
	}
	name, _ := textOf(raw)
	if fault := faultOfHeader(header, headerName, name, member, true); fault != "" {
		return ReasonHeaderMismatch, detail{cause: fault}
	}
	return "", detail{}
}

// faultOfMeta says what a modern request's _meta lacks, or "".
func faultOfMeta(meta *codec.Meta) string {
	switch {
	case meta.ProtocolVersion == nil:
		return "params._meta needs " + codec.MetaProtocolVersion + ", or send initialize first for an older revision"
	case meta.ProtocolVersion[0] != '"':
		return codec.MetaProtocolVersion + " in params._meta must be a string"
	case meta.ClientCapabilities == nil:
		return "params._meta needs " + codec.MetaClientCapabilities + ", an object"
	case meta.ClientCapabilities[0] != '{':
		return codec.MetaClientCapabilities + " in params._meta must be an object"
	case meta.ClientInfo == nil:
		return ""
	}
	for _, name := range [...]string{"name", "version"} {
		value, err := codec.Member(meta.ClientInfo, name)
		if err != nil || len(value) == 0 || value[0] != '"' {
			return codec.MetaClientInfo + " in params._meta must be an object with a " + name + ", a string"
		}
	}
	return ""
}

// routed is the member of a request's params that Mcp-Name repeats; its name is
// "" where there is none for the method.
func routed(m *codec.Message) (raw []byte, member string) {
	switch string(m.Method) {
	case methodCall, methodPrompt:
		return m.Name, "params.name"
	case methodRead:
		return m.URI, "params.uri"
	}
	return nil, ""
}

// faultOfHeader says how a header fails to repeat a member of the body, or "".
func faultOfHeader(header *fasthttp.RequestHeader, name string, want []byte, member string, mayBeEncoded bool) string {
	values := header.PeekAll(name)
	switch len(values) {
	case 0:
		return name + " is missing: send the request's " + member + " in it"
	case 1:
	default:
		return "there are two " + name + " headers"
	}
	value := trimOWS(values[0])
	if mayBeEncoded {
		var ok bool
		if value, ok = toolheader.Decode(value); !ok {
			return name + " is not in padded Base64 of UTF-8, as its =?base64? announces"
		}
	}
	if want == nil || !bytes.Equal(value, want) {
		return name + " differs from the request's " + member
	}
	return ""
}

// textOf is what a JSON string says; nil and false for any other value.
func textOf(raw []byte) (text []byte, ok bool) {
	if len(raw) < len(`""`) || raw[0] != '"' {
		return nil, false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], true
	}
	var plain string
	if json.Unmarshal(raw, &plain) != nil {
		return nil, false
	}
	return []byte(plain), true
}
