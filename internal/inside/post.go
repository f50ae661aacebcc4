package inside

import (
	"encoding/json"
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
)

var (
	emptyResult = []byte("{}") // a ping's: some peers refuse any member in it
	noTemplates = []byte(`{"resourceTemplates":[]}`)
)

// maxUnadmitted is the most bytes of a body that are read where the head says
// already that the request will be refused, unless it is an initialize: no more
// than that is needed to tell, and for the refusal to echo its id.
const maxUnadmitted = 64 << 10

// post serves one JSON-RPC message to a container.
func (h *Handler) post(x *exchange, container string) {
	revision := judgeRevision(&x.request.Header)
	s, noSession := h.session(&x.request.Header, container)
	most := h.cfg.MaxBody
	if revision != nil || noSession != "" {
		most = min(most, maxUnadmitted)
	}
	if refused, cause := x.readBody(most); refused != "" {
		h.refuseUnread(x, refused, cause, revision, noSession)
		return
	}
	m, err := codec.ParseMessage(x.text())
	if err != nil {
		h.refuseBody(x, err)
		return
	}
	if revision != nil {
		d := refusalID(ReasonRevision, m)
		d.data = revision
		h.refuse(x, ReasonRevision, d)
		return
	}
	if m.Form == codec.FormRequest && string(m.Method) == methodInitialize {
		h.initialize(x, container, m)
		return
	}
	if noSession != "" {
		h.refuse(x, noSession, refusalID(noSession, m))
		return
	}
	c := h.enter(container, s)
	if c == nil { // it ended while the body arrived
		h.refuse(x, ReasonUnknownSession, detail{})
		return
	}
	defer c.Exit()
	switch m.Form {
	case codec.FormRequest:
		h.request(x, c, s, m)
	case codec.FormNotification:
		if string(m.Method) == methodCancelled {
			cancelled(c.Sink().(*Face), s, m.Params)
		}
		x.response.SetStatusCode(fasthttp.StatusAccepted)
	default: // a response: nothing asks clients anything yet
		x.response.SetStatusCode(fasthttp.StatusAccepted)
	}
}

// refuseUnread answers a request whose body was not read to its end.
func (h *Handler) refuseUnread(x *exchange, refused Reason, cause string, revision []byte, noSession Reason) {
	switch {
	case refused != ReasonTooBig:
		h.refuse(x, refused, detail{cause: cause})
	case revision != nil:
		h.refuse(x, ReasonRevision, detail{data: revision})
	case noSession != "":
		h.refuse(x, noSession, detail{})
	default:
		h.refuse(x, ReasonTooBig, h.limit())
	}
}

// refuseBody answers a body that holds no message.
func (h *Handler) refuseBody(x *exchange, err error) {
	var invalid *codec.InvalidError
	if errors.As(err, &invalid) {
		h.refuse(x, ReasonNotMessage, detail{id: invalid.ID, cause: invalid.Reason})
		return
	}
	h.refuse(x, ReasonNotJSON, detail{cause: err.Error()})
}

// refusalID echoes a refused request's id, except where the session is unknown:
// clients recognize a lost session by an error without one.
func refusalID(reason Reason, m codec.Message) detail {
	if reason == ReasonUnknownSession || m.Form != codec.FormRequest {
		return detail{}
	}
	return detail{id: m.ID}
}

// judgeRevision refuses a request whose MCP-Protocol-Version we do not serve:
// it returns the error's data then, from which a client can choose another. One
// that differs from what was negotiated is accepted, and so is none.
func judgeRevision(header *fasthttp.RequestHeader) (data []byte) {
	name := header.Peek(headerRevision)
	if len(name) == 0 {
		return nil
	}
	if _, known := parseRevision(string(name)); known {
		return nil
	}
	data, err := json.Marshal(struct {
		Supported []string `json:"supported"`
		Requested string   `json:"requested"`
	}{revisions[:], string(name)})
	if err != nil {
		return []byte("{}")
	}
	return data
}

// session is the session of a request, if it is still good.
func (h *Handler) session(header *fasthttp.RequestHeader, container string) (s session, refused Reason) {
	token := header.Peek(headerSession)
	if len(token) == 0 {
		return session{}, ReasonNoSession
	}
	s, ok := h.faces.verify(container, token)
	if !ok || !h.live(container, s) {
		return session{}, ReasonUnknownSession
	}
	return s, ""
}

// enter enters the container of a session that was good, which begins if it must
// (protocol G5); the caller has to exit it. It returns nil if the session was
// ended just now.
func (h *Handler) enter(container string, s session) *mux.Container {
	c, admitted := h.mux.Enter(container), false
	defer func() {
		if !admitted {
			c.Exit()
		}
	}()
	if admitted = c.Sink().(*Face).admit(s); !admitted {
		return nil
	}
	return c
}

// admit finds the session of a request and enters its container. A session that
// is no good leaves no trace.
func (h *Handler) admit(x *exchange, container string) (*mux.Container, session, Reason) {
	s, refused := h.session(&x.request.Header, container)
	if refused != "" {
		return nil, session{}, refused
	}
	c := h.enter(container, s)
	if c == nil {
		return nil, session{}, ReasonUnknownSession
	}
	return c, s, ""
}

// live reports whether a session is still good. Its container need not be there.
func (h *Handler) live(container string, s session) bool {
	if c := h.mux.Lookup(container); c != nil {
		return c.Sink().(*Face).live(s)
	}
	return h.faces.live(s)
}

// request answers a request of a session.
func (h *Handler) request(x *exchange, c *mux.Container, s session, m codec.Message) {
	switch string(m.Method) {
	case methodPing:
		h.result(x, m.ID, emptyResult)
		return
	case methodTemplates:
		h.result(x, m.ID, noTemplates)
		return
	}
	kind, served := codec.KindOfMethod(m.Method)
	if !served {
		h.fail(x, m.ID, codec.Error{Code: codeMethodNotFound,
			Message: "Method not found: " + strconv.Quote(string(m.Method))})
		return
	}
	payload, err := kind.Payload(m.Params)
	if err != nil {
		h.fail(x, m.ID, codec.Error{Code: codeInvalidParams, Message: "Invalid params: " + err.Error()})
		return
	}
	h.relay(x, c, s, m.ID, kind, payload)
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

// result answers a request with a result, raw JSON.
func (h *Handler) result(x *exchange, id, result []byte) {
	x.answer(mediaJSON, resultResponse(id, result))
}

// fail answers a request with an error. Its HTTP status is 200: clients take any
// other for the end of the connection.
func (h *Handler) fail(x *exchange, id []byte, e codec.Error) {
	x.answer(mediaJSON, errorResponse(id, e.Append(nil)))
}
