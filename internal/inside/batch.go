package inside

import (
	"errors"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// maxBatch is how many messages a batch may have.
const maxBatch = 100

// element is one message of a batch, or what it is instead.
type element struct {
	message codec.Message
	meta    codec.Meta
	metaErr error
	invalid error
}

// batch serves an array of messages, which clients of the oldest revisions may
// send: at least one and at most maxBatch. The responses come in an array, or one
// by one where they become an event stream.
func (h *Handler) batch(x *exchange, c *mux.Container, s session, elements [][]byte) {
	parsed := make([]element, len(elements))
	for i, raw := range elements {
		e := &parsed[i]
		if e.message, e.invalid = codec.ParseMessage(raw); e.invalid != nil {
			continue
		}
		e.meta, e.metaErr = codec.ParseMeta(e.message.Meta)
		if why := e.unfit(); why != "" {
			h.refuse(x, ReasonNotMessage, detail{cause: why})
			return
		}
	}
	r := h.batchReply(x, c, len(parsed))
	defer r.release()
	owes := false
	for i := range parsed {
		owes = r.element(s, &parsed[i], i) || owes
	}
	r.wait()
	switch {
	case x.events != nil:
	case !owes:
		x.response.SetStatusCode(fasthttp.StatusAccepted)
	default:
		r.array()
	}
}

// unfit is why a message makes a batch none, or "".
func (e *element) unfit() string {
	switch {
	case e.message.Form == codec.FormRequest && string(e.message.Method) == methodInitialize:
		return "initialize must be sent alone, not in a batch"
	case e.meta.ProtocolVersion != nil:
		return "revision " + modernRevision + " has no batches; send its messages one by one"
	}
	return ""
}

// element serves one message; owes says that it has a response.
func (r *reply) element(s session, e *element, slot int) (owes bool) {
	h, m := r.handler, e.message
	var invalid *codec.InvalidError
	switch {
	case errors.As(e.invalid, &invalid):
		r.refuse(slot, ReasonNotMessage, detail{id: invalid.ID, cause: invalid.Reason})
		return true
	case e.invalid != nil: // which only an array that is not JSON brings about
		r.refuse(slot, ReasonNotJSON, detail{cause: e.invalid.Error()})
		return true
	case m.Form == codec.FormNotification:
		if string(m.Method) == methodCancelled {
			cancelled(r.face, s, m.Params)
		}
		return false
	case m.Form == codec.FormResponse:
		return false
	}
	if out, _, local := h.local(legacy, m); local {
		r.put(slot, out)
		return true
	}
	kind, _ := codec.KindOfMethod(m.Method)
	var refused Reason
	err := e.metaErr
	if err == nil {
		refused, err = r.ask(asking{era: legacy, session: s.id, kind: kind, message: m, meta: e.meta}, slot)
	}
	switch {
	case refused != "":
		r.refuse(slot, refused, detail{id: m.ID})
	case err != nil:
		r.put(slot, errorResponse(m.ID, invalidParams(err).Append(nil)))
	}
	return true
}

// refuse answers one message of a batch with a refusal, which it counts and logs.
func (r *reply) refuse(slot int, reason Reason, d detail) {
	refused := refusalFor(reason)
	r.handler.observer.Refused(Listener, string(reason))
	r.handler.logRefused(refused, d.cause, r.x.client.conn, r.x.head())
	body := refused.body(d)
	out := codec.GetBuffer(len(body))
	out.B = append(out.B, body...)
	r.put(slot, out)
}

// array makes the responses of a batch the body. Where all of its requests were
// cancelled there is none: that is an event stream without an event.
func (r *reply) array() {
	size := len("[]")
	for _, out := range r.outs {
		if out != nil {
			size += len(out.B) + len(",")
		}
	}
	if size == len("[]") {
		r.x.response.Header.SetContentType(mediaStream)
		return
	}
	all := codec.GetBuffer(size)
	for _, out := range r.outs {
		if out == nil {
			continue
		}
		all.B = append(append(all.B, ','), out.B...)
	}
	all.B[0] = '['
	all.B = append(all.B, ']')
	r.x.answer(mediaJSON, all)
}
