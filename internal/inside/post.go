package inside

import (
	"errors"
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

const (
	methodInitialize = "initialize"
	methodPing       = "ping"
	methodTemplates  = "resources/templates/list"
	methodCancelled  = "notifications/cancelled"
	methodDiscover   = "server/discover"
	methodListen     = "subscriptions/listen"
	methodCall       = "tools/call"
	methodRead       = "resources/read"
	methodPrompt     = "prompts/get"
)

var (
	emptyResult = []byte("{}") // a ping's: some peers refuse any member in it
	noTemplates = []byte(`{"resourceTemplates":[]}`)
)

// maxUnadmitted is the most bytes of a body that are read where the head says
// already that the request will be refused, unless it is an initialize: no more
// than that is needed to tell, and for the refusal to echo its id.
const maxUnadmitted = 64 << 10

// posting is what the head of a POST says of its sender.
type posting struct {
	container string
	stated    stated
	session   session
	noSession Reason // why session is none; it has to have one in the legacy era
}

// mostBody is the most that is read of the body.
func (p *posting) mostBody(limit int) int {
	switch {
	case p.stated.differ || !p.stated.served():
	case p.noSession == "" || string(p.stated.name) == modernRevision:
		return limit
	}
	return min(limit, maxUnadmitted)
}

// post serves one JSON-RPC message to a container, or a batch of them.
func (h *Handler) post(x *exchange, container string) {
	p := posting{container: container, stated: statedRevision(&x.request.Header)}
	p.session, p.noSession = h.session(&x.request.Header, container)
	if refused, cause := x.readBody(p.mostBody(h.cfg.MaxBody)); refused != "" {
		h.refuseUnread(x, &p, refused, cause)
		return
	}
	m, err := codec.ParseMessage(x.text())
	if err != nil {
		h.postOther(x, &p, err)
		return
	}
	meta, metaErr := metaOf(m)
	if eraOf(m, meta, p.stated) == modern {
		h.modern(x, &p, m, meta, metaErr)
		return
	}
	h.legacy(x, &p, m, meta)
}

// metaOf reads the _meta of a message's params; a null is none.
func metaOf(m codec.Message) (codec.Meta, error) {
	if string(m.Meta) == "null" {
		return codec.Meta{}, nil
	}
	return codec.ParseMeta(m.Meta)
}

// postOther serves a body that is not one message, which may be a batch.
func (h *Handler) postOther(x *exchange, p *posting, err error) {
	var invalid *codec.InvalidError
	switch {
	case !errors.As(err, &invalid):
		h.refuse(x, ReasonNotJSON, detail{cause: err.Error()})
	case invalid.Batch:
		h.array(x, p)
	default:
		h.refuse(x, ReasonNotMessage, detail{id: invalid.ID, cause: invalid.Reason})
	}
}

// refuseUnread answers a request whose body was not read to its end.
func (h *Handler) refuseUnread(x *exchange, p *posting, refused Reason, cause string) {
	if refused != ReasonTooBig {
		h.refuse(x, refused, detail{cause: cause})
		return
	}
	if why, d := p.stated.judge(); why != "" {
		h.refuse(x, why, d)
		return
	}
	if p.noSession != "" && !p.stated.modern() {
		h.refuse(x, p.noSession, detailOf(p.noSession))
		return
	}
	h.refuse(x, ReasonTooBig, h.limit())
}

// legacy serves a message of the legacy era.
func (h *Handler) legacy(x *exchange, p *posting, m codec.Message, meta codec.Meta) {
	begins := m.Form == codec.FormRequest && string(m.Method) == methodInitialize
	if begins && p.stated.modern() {
		h.refuse(x, ReasonHeaderMismatch, detail{id: m.ID,
			cause: "initialize begins a session, which the revision in " + headerRevision + " does not have"})
		return
	}
	if refused, d := p.stated.judge(); refused != "" {
		h.refuseMessage(x, refused, d, m)
		return
	}
	if begins {
		h.initialize(x, p.container, m)
		return
	}
	c := h.enterPosting(x, p, m)
	if c == nil {
		return
	}
	defer c.Exit()
	switch m.Form {
	case codec.FormRequest:
		h.request(x, c, p.session, m, meta)
	case codec.FormNotification:
		if string(m.Method) == methodCancelled {
			cancelled(c.Sink().(*Face), p.session, m.Params)
		}
		x.response.SetStatusCode(fasthttp.StatusAccepted)
	default: // a response: nothing asks clients anything yet
		x.response.SetStatusCode(fasthttp.StatusAccepted)
	}
}

// enterPosting enters the container of a POST that needs a session, or answers it
// if it has none; m is its message, empty for a batch.
func (h *Handler) enterPosting(x *exchange, p *posting, m codec.Message) *mux.Container {
	if p.noSession != "" {
		h.refuseMessage(x, p.noSession, detailOf(p.noSession), m)
		return nil
	}
	c := h.enter(p.container, p.session)
	if c == nil { // it ended while the body arrived
		h.refuse(x, ReasonUnknownSession, detail{})
	}
	return c
}

// refuseMessage refuses a message and echoes its id, except where the session is
// unknown: clients recognize a lost session by an error without one.
func (h *Handler) refuseMessage(x *exchange, refused Reason, d detail, m codec.Message) {
	if refused != ReasonUnknownSession && m.Form == codec.FormRequest {
		d.id = m.ID
	}
	h.refuse(x, refused, d)
}

// request answers a request of a session.
func (h *Handler) request(x *exchange, c *mux.Container, s session, m codec.Message, meta codec.Meta) {
	if out, status, ok := h.local(legacy, m); ok {
		h.reply(x, out, status)
		return
	}
	kind, _ := codec.KindOfMethod(m.Method)
	h.relay(x, c, asking{era: legacy, session: s.id, kind: kind, message: m, meta: meta})
}

// local answers a request that needs no far side: one that is for us, and one
// that nobody could serve. It reports false for one to relay.
func (h *Handler) local(e era, m codec.Message) (out *codec.Buffer, status int, ok bool) {
	switch string(m.Method) {
	case methodPing:
		if e == legacy {
			return resultResponse(m.ID, emptyResult), fasthttp.StatusOK, true
		}
	case methodTemplates:
		if e == legacy {
			return resultResponse(m.ID, noTemplates), fasthttp.StatusOK, true
		}
		return resultResponse(m.ID, h.modernly.templates), fasthttp.StatusOK, true
	case methodDiscover:
		if e == modern {
			return resultResponse(m.ID, h.modernly.discovered), fasthttp.StatusOK, true
		}
	}
	kind, served := codec.KindOfMethod(m.Method)
	if !served {
		out = failure(m.ID, codeMethodNotFound, "Method not found: "+strconv.Quote(string(m.Method)))
		return out, statusOf(e, codeMethodNotFound), true
	}
	_, err := kind.Payload(m.Params)
	if err == nil {
		_, err = metaOf(m)
	}
	if err != nil {
		return failure(m.ID, codeInvalidParams, "Invalid params: "+err.Error()), fasthttp.StatusOK, true
	}
	return nil, 0, false
}

// statusOf is the HTTP status of a response with an error. In the legacy era it
// is 200: clients take any other for the end of the connection.
func statusOf(e era, code int32) int {
	if e == modern {
		switch code {
		case codeMethodNotFound:
			return fasthttp.StatusNotFound
		case codeMissingCapability:
			return fasthttp.StatusBadRequest
		}
	}
	return fasthttp.StatusOK
}

// cancelled ends the request that a notifications/cancelled names, if it is one
// of the same session. Any other is none of the sender's business (protocol A10).
func cancelled(f *Face, s session, params []byte) {
	if params == nil {
		return
	}
	id, err := codec.Member(params, "requestId")
	if err != nil || id == nil {
		return
	}
	f.cancel(keyOf(s.id, id))
}

// reply makes out, which it takes over, the JSON response to a request.
func (h *Handler) reply(x *exchange, out *codec.Buffer, status int) {
	x.response.SetStatusCode(status)
	x.answer(mediaJSON, out)
}

// result answers a request with a result, raw JSON.
func (h *Handler) result(x *exchange, id, result []byte) {
	x.answer(mediaJSON, resultResponse(id, result))
}

// fail answers a request with an error on HTTP 200.
func (h *Handler) fail(x *exchange, id []byte, e codec.Error) {
	x.answer(mediaJSON, errorResponse(id, e.Append(nil)))
}
