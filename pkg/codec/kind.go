package codec

import (
	"bytes"
	"strconv"
)

// Kind says which ask a frame carries; it is the fifth byte of the frame
// (protocol R3).
type Kind uint8

// The kinds that are served. A value that is none of them is not Known.
const (
	ListTools Kind = iota
	ListResources
	CallTool
	ReadResource
	Notifications

	kindEnd
)

// KindCount is the number of kinds served: every Known kind is below it, so
// that it sizes an array with one element per kind.
const KindCount = int(kindEnd)

// kinds is the only place where kinds are listed: adding one is a constant
// above and a row here.
var kinds = [KindCount]struct {
	name    string  // path segment and metric label
	method  string  // JSON-RPC method that makes the ask; "" if no method does
	many    bool    // one message per notification instead of exactly one
	payload payload // what the ask carries
	array   string  // the member a complete result holds, an array (protocol D2)
	or      string  // a member of any type that does instead; "" if none does
	cached  bool    // the stateless revision has results say how long they are good
}{
	ListTools:     {name: "list-tools", method: "tools/list", payload: paramsOrNull, array: "tools", cached: true},
	ListResources: {name: "list-resources", method: "resources/list", payload: paramsOrNull, array: "resources", cached: true},
	CallTool:      {name: "call-tool", method: "tools/call", payload: paramsObject, array: "content", or: "structuredContent"},
	ReadResource:  {name: "read-resource", method: "resources/read", payload: paramsObject, array: "contents", cached: true},
	Notifications: {name: "notifications", many: true, payload: noPayload},
}

// payload is the rule by which a client's params become an ask's payload.
type payload uint8

const (
	paramsOrNull payload = iota // the params object, or null for none
	paramsObject                // the params object
	noPayload                   // nothing
)

// Known reports whether k is served.
func (k Kind) Known() bool { return k < kindEnd }

// Name returns the segment that stands for k in paths and metric labels, or
// "" if k is not Known.
func (k Kind) Name() string {
	if !k.Known() {
		return ""
	}
	return kinds[k].name
}

// Method returns the JSON-RPC method whose requests are asks of kind k, or ""
// if there is none.
func (k Kind) Method() string {
	if !k.Known() {
		return ""
	}
	return kinds[k].method
}

// Many reports whether an ask of kind k is answered by one message per
// notification for as long as its path lives; other kinds are answered by
// exactly one message.
func (k Kind) Many() bool { return k.Known() && kinds[k].many }

// String returns Name, or "kind(17)" if k is not Known.
func (k Kind) String() string {
	if !k.Known() {
		return "kind(" + strconv.Itoa(int(k)) + ")"
	}
	return kinds[k].name
}

// KindOfMethod returns the kind whose asks are requests of the method.
func KindOfMethod(method []byte) (Kind, bool) {
	for k := range kinds {
		if m := kinds[k].method; m != "" && string(method) == m {
			return Kind(k), true
		}
	}
	return 0, false
}

// Payload returns the payload of an ask of kind k made by a request with the
// given params: raw JSON of one value, already checked (as ParseMessage
// returns it), or nil where the request had none. The payload is a view of
// params, or of constant bytes. It fails with a *ParamsError (protocol R4).
func (k Kind) Payload(params []byte) ([]byte, error) {
	if !k.Known() {
		return nil, &UnknownKindError{k}
	}
	params = trimSpace(params)
	switch rule := kinds[k].payload; {
	case rule == noPayload && len(params) == 0:
		return nil, nil
	case rule == noPayload:
		return nil, &ParamsError{Kind: k, Reason: "params are not allowed"}
	case len(params) > 0 && params[0] == '{':
		return params, nil
	case rule == paramsOrNull && (len(params) == 0 || isNull(params)):
		return null[:len(null):len(null)], nil
	case len(params) == 0:
		return nil, &ParamsError{Kind: k, Reason: "params are missing, an object is required"}
	}
	return nil, &ParamsError{Kind: k, Reason: "params must be an object"}
}

var null = []byte("null")

const pathPrefix = "/mcp/"

// AppendPath appends the answer path of an ask, such as "/mcp/call-tool/258"
// (protocol R3). It panics if k is not Known.
func AppendPath(dst []byte, k Kind, channel uint32) []byte {
	dst = append(dst, pathPrefix...)
	dst = append(dst, kinds[k].name...)
	dst = append(dst, '/')
	return strconv.AppendUint(dst, uint64(channel), 10)
}

// ParsePath is the reverse of AppendPath, on a raw path without a query. The
// channel must be canonical decimal: digits without sign or leading zero, at
// most 4294967295 (protocol A2). Channel 0 parses, although none is minted.
func ParsePath(path []byte) (k Kind, channel uint32, ok bool) {
	rest, ok := bytes.CutPrefix(path, []byte(pathPrefix))
	if !ok {
		return 0, 0, false
	}
	slash := bytes.IndexByte(rest, '/')
	if slash < 0 {
		return 0, 0, false
	}
	channel, ok = parseChannel(rest[slash+1:])
	if !ok {
		return 0, 0, false
	}
	for k := range kinds {
		if string(rest[:slash]) == kinds[k].name {
			return Kind(k), channel, true
		}
	}
	return 0, 0, false
}

func parseChannel(digits []byte) (uint32, bool) {
	const longest = len("4294967295")
	if len(digits) == 0 || len(digits) > longest || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	var n uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return uint32(n), n <= 1<<32-1
}
