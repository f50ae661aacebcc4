package inside

import (
	"errors"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// batch serves the elements of an array that a client of an old revision sent: at
// least one and at most maxBatch. The responses come in an array, or one by one
// where they become an event stream.
func (h *Handler) batch(x *exchange, c *mux.Container, s session, elements [][]byte) {
	r := h.batchReply(x, c, len(elements))
	defer r.release()
	owes := false
	for slot, raw := range elements {
		owes = r.element(s, raw, slot) || owes
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

// element serves one message; owes says that it has a response, unless it is
// cancelled.
func (r *reply) element(s session, raw []byte, slot int) (owes bool) {
	m, err := codec.ParseMessage(raw)
	var invalid *codec.InvalidError
	switch {
	case errors.As(err, &invalid):
		r.refuse(slot, ReasonNotMessage, detail{id: invalid.ID, cause: invalid.Reason})
		return true
	case err != nil: // which an array that was parsed does not bring about
		r.refuse(slot, ReasonNotJSON, detail{cause: err.Error()})
		return true
	case m.Form == codec.FormRequest:
		r.request(s, m, slot)
		return true
	case m.Form == codec.FormNotification && string(m.Method) == methodCancelled:
		cancelled(r.face, s, m.Params)
	}
	return false
}

// request serves one request of a session.
func (r *reply) request(s session, m codec.Message, slot int) {
	if out, _, ok := r.handler.local(legacy, &m); ok {
		r.put(slot, out)
		return
	}
	kind, _ := codec.KindOfMethod(m.Method)
	var refused Reason
	meta, err := metaOf(&m)
	if err == nil {
		refused, err = r.ask(&asking{era: legacy, session: s.id, kind: kind, message: m, meta: meta}, slot)
	}
	switch {
	case refused != "":
		r.refuse(slot, refused, refusalDetail(refused, m.ID))
	case fullOf(err) != nil:
		r.refuse(slot, Reason(fullOf(err).Name), fullDetail(fullOf(err), m.ID))
	case err != nil:
		r.unasked(slot, m.ID, err)
	}
}

// unasked is Handler.unasked for one message of a batch.
func (r *reply) unasked(slot int, id []byte, err error) {
	if reason, d, over := r.handler.faces.overLimit(err); over {
		d.id = id
		r.refuse(slot, reason, d)
		return
	}
	r.put(slot, failure(id, codeInvalidParams, invalidParams(err)))
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
		all.Inherit(out)
		out.Release()
	}
	all.B[0] = '['
	all.B = append(all.B, ']')
	r.x.answer(mediaJSON, all)
}
