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

// post serves one JSON-RPC message to a container.
func (h *Handler) post(ctx *fasthttp.RequestCtx, container string) {
	m, err := codec.ParseMessage(ctx.Request.Body())
	if err != nil {
		h.refuseBody(ctx, err)
		return
	}
	if data := judgeRevision(ctx); data != nil {
		d := refusalID(ReasonRevision, m)
		d.data = data
		h.refuse(ctx, ReasonRevision, d)
		return
	}
	if m.Form == codec.FormRequest && string(m.Method) == methodInitialize {
		h.initialize(ctx, container, m)
		return
	}
	c, s, refused := h.admit(ctx, container)
	if refused != "" {
		h.refuse(ctx, refused, refusalID(refused, m))
		return
	}
	defer c.Exit()
	switch m.Form {
	case codec.FormRequest:
		h.request(ctx, c, s, m)
	case codec.FormNotification:
		if string(m.Method) == methodCancelled {
			cancelled(c.Sink().(*Face), s, m.Params)
		}
		ctx.SetStatusCode(fasthttp.StatusAccepted)
	default: // a response: nothing asks clients anything yet
		ctx.SetStatusCode(fasthttp.StatusAccepted)
	}
}

// refuseBody answers a body that holds no message.
func (h *Handler) refuseBody(ctx *fasthttp.RequestCtx, err error) {
	var invalid *codec.InvalidError
	if errors.As(err, &invalid) {
		h.refuse(ctx, ReasonNotMessage, detail{id: invalid.ID, cause: invalid.Reason})
		return
	}
	h.refuse(ctx, ReasonNotJSON, detail{cause: err.Error()})
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
func judgeRevision(ctx *fasthttp.RequestCtx) (data []byte) {
	name := ctx.Request.Header.Peek(headerRevision)
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

// admit finds the session of a request. A session that is still good enters its
// container, which begins if it must (protocol G5), and the caller has to exit
// it; any other session leaves no trace.
func (h *Handler) admit(ctx *fasthttp.RequestCtx, container string) (*mux.Container, session, Reason) {
	token := ctx.Request.Header.Peek(headerSession)
	if len(token) == 0 {
		return nil, session{}, ReasonNoSession
	}
	s, ok := h.faces.verify(container, token)
	if !ok {
		return nil, session{}, ReasonUnknownSession
	}
	if !h.live(container, s) {
		return nil, session{}, ReasonUnknownSession
	}
	c, admitted := h.mux.Enter(container), false
	defer func() {
		if !admitted {
			c.Exit()
		}
	}()
	if admitted = c.Sink().(*Face).admit(s); !admitted { // ended just now
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
func (h *Handler) request(ctx *fasthttp.RequestCtx, c *mux.Container, s session, m codec.Message) {
	switch string(m.Method) {
	case methodPing:
		h.result(ctx, m.ID, emptyResult)
		return
	case methodTemplates:
		h.result(ctx, m.ID, noTemplates)
		return
	}
	kind, served := codec.KindOfMethod(m.Method)
	if !served {
		h.fail(ctx, m.ID, codec.Error{Code: codeMethodNotFound,
			Message: "Method not found: " + strconv.Quote(string(m.Method))})
		return
	}
	payload, err := kind.Payload(m.Params)
	if err != nil {
		h.fail(ctx, m.ID, codec.Error{Code: codeInvalidParams, Message: "Invalid params: " + err.Error()})
		return
	}
	h.relay(ctx, c, s, m.ID, kind, payload)
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
func (h *Handler) result(ctx *fasthttp.RequestCtx, id, result []byte) {
	ctx.SetContentType(mediaJSON)
	ctx.Response.SwapBody(codec.AppendResponse(ctx.Response.SwapBody(nil)[:0], id, result))
}

// fail answers a request with an error. Its HTTP status is 200: clients take any
// other for the end of the connection.
func (h *Handler) fail(ctx *fasthttp.RequestCtx, id []byte, e codec.Error) {
	ctx.SetContentType(mediaJSON)
	ctx.Response.SwapBody(codec.AppendErrorResponse(ctx.Response.SwapBody(nil)[:0], id, e.Append(nil)))
}
