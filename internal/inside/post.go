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

// posting is what a POST is judged by. It is kept in the exchange: on the stack it
// would make a waiting call dearer.
type posting struct {
	container string
	stated    stated
	sender    session
	noSession Reason // why sender is none; in the legacy era it has to be one

	// Of the body, once it is read.
	asking        // its message, and _meta as far as that can be read
	metaErr error // why it cannot
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

// post serves one JSON-RPC message to a container, or a batch of them. Its steps
// return before the next begins, so that a call waits on a small stack.
func (h *Handler) post(x *exchange, container string) {
	p := &x.posting
	p.container = container
	if !h.receive(x) {
		return
	}
	if err := p.parse(x.text()); err != nil {
		h.postOther(x, err)
		return
	}
	if p.message.Form == codec.FormRequest && h.draining.Load() {
		h.refuse(x, ReasonShutdown, detail{id: p.message.ID})
		return
	}
	if p.classify(); p.era == modern {
		h.modern(x)
	} else {
		h.legacy(x)
	}
}

// receive reads the body of a POST, or answers it and returns false.
func (h *Handler) receive(x *exchange) bool {
	p := &x.posting
	p.stated = statedRevision(&x.request.Header)
	p.sender, p.noSession = h.session(&x.request.Header, p.container)
	refused, cause := x.readBody(p.mostBody(h.cfg.MaxBody))
	if refused != "" {
		h.refuseUnread(x, refused, cause)
	}
	return refused == ""
}

// parse parses the body of a POST.
func (p *posting) parse(body []byte) (err error) {
	p.message, err = codec.ParseMessage(body)
	return err
}

// classify tells whose the message is.
func (p *posting) classify() {
	p.meta, p.metaErr = metaOf(&p.message)
	p.era = eraOf(p)
}

// metaOf reads the _meta of a message's params; a null is none.
func metaOf(m *codec.Message) (codec.Meta, error) {
	if string(m.Meta) == "null" {
		return codec.Meta{}, nil
	}
	return codec.ParseMeta(m.Meta)
}

// postOther serves a body that is not one message, which may be a batch.
func (h *Handler) postOther(x *exchange, err error) {
	var invalid *codec.InvalidError
	switch {
	case !errors.As(err, &invalid):
		h.refuse(x, ReasonNotJSON, detail{cause: err.Error()})
	case invalid.Batch && h.draining.Load():
		h.refuse(x, ReasonShutdown, detail{})
	case invalid.Batch:
		h.array(x)
	default:
		h.refuse(x, ReasonNotMessage, detail{id: invalid.ID, cause: invalid.Reason})
	}
}

// unadmittedLimit is what a client has to know that was refused for want of a
// session before its body could be read: it may have been an initialize.
var unadmittedLimit = "without a session a body of more than " + strconv.Itoa(maxUnadmitted) +
	" bytes is not read, whatever is in it"

// refuseUnread answers a request whose body was not read to its end.
func (h *Handler) refuseUnread(x *exchange, refused Reason, cause string) {
	p := &x.posting
	if x.full != nil {
		h.refuseFull(x, x.full, nil)
		return
	}
	if refused != ReasonTooBig {
		h.refuse(x, refused, detail{cause: cause})
		return
	}
	if why, d := p.stated.judge(); why != "" {
		h.refuse(x, why, d)
		return
	}
	if p.noSession != "" && !p.stated.modern() {
		d := detailOf(p.noSession)
		if d.cause == "" {
			d.cause = unadmittedLimit
		}
		h.refuse(x, p.noSession, d)
		return
	}
	h.refuse(x, ReasonTooBig, h.limit())
}

// legacy serves a message of the legacy era.
func (h *Handler) legacy(x *exchange) {
	c := h.admitLegacy(x)
	if c == nil {
		return
	}
	defer x.exit(c)
	if x.posting.message.Form == codec.FormRequest {
		h.request(x, c)
		return
	}
	if x.posting.message.Form == codec.FormNotification {
		h.note(&x.posting, c)
	}
	// A response means nothing: nobody asks clients anything yet.
	x.response.SetStatusCode(fasthttp.StatusAccepted)
}

// admitLegacy enters the container of a message of a session; or it answers it,
// and returns nil.
func (h *Handler) admitLegacy(x *exchange) *mux.Container {
	p := &x.posting
	m := &p.message
	begins := m.Form == codec.FormRequest && string(m.Method) == methodInitialize
	if begins && p.stated.modern() {
		h.refuse(x, ReasonHeaderMismatch, detail{id: m.ID,
			cause: "initialize begins a session, which the revision in " + headerRevision + " does not have"})
		return nil
	}
	if refused, d := p.stated.judge(); refused != "" {
		h.refuseMessage(x, refused, d)
		return nil
	}
	if begins {
		h.initialize(x, p.container, m)
		return nil
	}
	return h.enterPosting(x)
}

// note takes in a notification of a client, which is for nobody but us.
func (h *Handler) note(p *posting, c *mux.Container) {
	if string(p.message.Method) == methodCancelled {
		cancelled(c.Sink().(*Face), p.sender, p.message.Params)
	}
}

// enterPosting enters the container of a POST that needs a session, or answers it
// if it has none.
func (h *Handler) enterPosting(x *exchange) *mux.Container {
	p := &x.posting
	if p.noSession != "" {
		h.refuseMessage(x, p.noSession, detailOf(p.noSession))
		return nil
	}
	c, err := h.enter(p.container, p.sender)
	switch reason, d, over := h.faces.overLimit(err); {
	case err == nil:
		return c
	case over && p.requestID() != nil:
		d.id = p.requestID()
		h.refuseRequest(x, legacy, reason, d)
	default: // as a rule it ended while the body arrived
		h.refuseEntry(x, err, nil)
	}
	return nil
}

// refuseMessage refuses a message and echoes its id, except where the session is
// unknown: clients recognize a lost session by an error without one.
func (h *Handler) refuseMessage(x *exchange, refused Reason, d detail) {
	if refused != ReasonUnknownSession {
		d.id = x.posting.requestID()
	}
	h.refuse(x, refused, d)
}

// requestID is the id of a request, nil for any other message.
func (p *posting) requestID() []byte {
	if p.message.Form != codec.FormRequest {
		return nil
	}
	return p.message.ID
}

// request answers a request that nothing speaks against.
func (h *Handler) request(x *exchange, c *mux.Container) {
	a := &x.posting.asking
	if out, status, ok := h.local(a.era, &a.message); ok {
		h.reply(x, out, status)
		return
	}
	a.kind, _ = codec.KindOfMethod(a.message.Method)
	if a.era == legacy {
		a.session = x.posting.sender.id
	}
	h.relay(x, c, a)
}

// local answers a request that needs no far side: one that is for us, and one
// that nobody could serve. It reports false for one to relay.
func (h *Handler) local(e era, m *codec.Message) (out *codec.Buffer, status int, ok bool) {
	switch string(m.Method) {
	case methodPing:
		if e == legacy {
			return resultResponse(m.ID, emptyResult), fasthttp.StatusOK, true
		}
	case methodTemplates:
		if e == legacy {
			return resultResponse(m.ID, noTemplates), fasthttp.StatusOK, true
		}
		return resultResponse(m.ID, h.ours.templates), fasthttp.StatusOK, true
	case methodDiscover:
		if e == modern {
			return resultResponse(m.ID, h.ours.discovered), fasthttp.StatusOK, true
		}
	}
	kind, served := codec.KindOfMethod(m.Method)
	if !served {
		return methodNotFound(m), statusOf(e, codeMethodNotFound), true
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

func methodNotFound(m *codec.Message) *codec.Buffer {
	return failure(m.ID, codeMethodNotFound, "Method not found: "+strconv.Quote(logged(m.Method)))
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
