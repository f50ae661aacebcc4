package inside

import (
	"bytes"
	"encoding/json"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/pkg/codec"
)

// era says which of MCP's two ways of speaking a message belongs to. Both are
// served at the same URL.
type era uint8

const (
	legacy era = iota // 2024-11-05 to 2025-11-25: sessions, which initialize begins
	modern            // 2026-07-28: every request stands alone and says what it needs in its _meta
)

// stated is the revision that a request's header states, borrowed from it.
type stated struct {
	name   []byte // nil if none is stated
	times  int    // how often
	differ bool   // and not always the same
}

func statedRevision(header *fasthttp.RequestHeader) stated {
	values := header.PeekAll(headerRevision)
	if len(values) == 0 {
		return stated{}
	}
	return stated{name: trimOWS(values[0]), times: len(values), differ: ambiguous(values)}
}

// modern reports whether the stated revision is of the modern era, ours or a
// later one. Revisions are dates, and what is none of them sorts somewhere.
func (v stated) modern() bool { return string(v.name) >= modernRevision }

// served reports whether we serve what is stated; nothing stated is nothing wrong.
func (v stated) served() bool {
	if len(v.name) == 0 || string(v.name) == modernRevision {
		return true
	}
	_, known := parseRevision(string(v.name))
	return known
}

// judge refuses what is stated on traffic of sessions. A revision that differs
// from what was negotiated is accepted, and so is none.
func (v stated) judge() (refused Reason, d detail) {
	switch {
	case v.differ:
		return ReasonMalformed, detail{cause: "there are two " + headerRevision + " headers that differ"}
	case !v.served():
		return ReasonRevision, detail{data: unsupportedData(quoted(v.name))}
	}
	return "", detail{}
}

// eraOf tells whose the message of a POST is.
//
// The version in a message's _meta claims the modern era for it. Without that a
// header can do so too, except for an initialize, which begins a session, and for
// a response, which only sessions have a use for.
func eraOf(p *posting) era {
	m := &p.message
	switch {
	case m.Form == codec.FormResponse:
		return legacy
	case p.meta.ProtocolVersion != nil:
		return modern
	case m.Form == codec.FormRequest && string(m.Method) == methodInitialize:
		return legacy
	case p.stated.modern():
		return modern
	}
	return legacy
}

// unsupportedData is what the refusal of a revision carries, so that a client can
// choose another: requested is a JSON string, echoed as it came.
func unsupportedData(requested []byte) []byte {
	data := append([]byte(`{"supported":`), supportedList...)
	data = append(append(data, `,"requested":`...), requested...)
	return append(data, '}')
}

// quoted is a text as a JSON string.
func quoted(text []byte) []byte {
	b, err := json.Marshal(string(text))
	if err != nil {
		return []byte(`""`)
	}
	return b
}

// trimOWS cuts the optional white space of HTTP off a header's value.
func trimOWS(value []byte) []byte { return bytes.Trim(value, " \t") }
