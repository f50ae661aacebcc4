package inside

import (
	"time"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// asking is one request that goes to the provider's server. It is borrowed from
// the body of the POST, which stays as it is until that is answered.
type asking struct {
	era     era
	session sessionID // a legacy client's
	kind    codec.Kind
	message codec.Message
	meta    codec.Meta // of message
}

// relay asks the provider's server on behalf of the one request of a POST, and
// waits for what comes of it, unless that may be left to whoever brings it.
func (h *Handler) relay(x *exchange, c *mux.Container, a *asking) {
	r := h.takeReply(x, c)
	defer func() {
		if x.left == nil {
			r.release()
		}
	}()
	refused, err := r.ask(a, 0)
	if refused == "" && err == nil && r.leavable() {
		x.left = r
		return
	}
	r.wait()
	switch {
	case refused != "":
		h.refuse(x, refused, refusalDetail(refused, a.message.ID))
	case fullOf(err) != nil:
		h.refuseFull(x, fullOf(err), a.message.ID)
	case err != nil:
		h.unasked(x, a, err)
	default:
		r.respond()
	}
}

// unasked answers a request that could not be asked for an error.
func (h *Handler) unasked(x *exchange, a *asking, err error) {
	id := a.message.ID
	if reason, d, over := h.faces.overLimit(err); over {
		d.id = id
		h.refuseRequest(x, a.era, reason, d)
		return
	}
	h.reply(x, failure(id, codeInvalidParams, invalidParams(err)), fasthttp.StatusOK)
}

// respond makes what came of the one request of a POST its response.
func (r *reply) respond() {
	switch out := r.outs[0]; {
	case r.x.events != nil:
	case out == nil:
		// A cancelled request has no response: an event stream without an event
		// says so. Clients take a 202 for a broken connection.
		r.x.response.Header.SetContentType(mediaStream)
	default:
		r.outs[0] = nil
		r.handler.reply(r.x, out, r.status)
	}
}

// refusalDetail is what a request that may not be asked is told besides why.
func refusalDetail(refused Reason, id []byte) detail {
	if refused == ReasonUnknownSession {
		return detail{}
	}
	return detail{id: id}
}

func invalidParams(err error) string { return "Invalid params: " + err.Error() }

// ask makes one call of the reply, whose response becomes that of the slot. It
// says why the call may not be made; the error, what is wrong with its params, or
// which limit it would be over.
func (r *reply) ask(a *asking, slot int) (refused Reason, err error) {
	c := takeCall(r, a)
	c.slot, c.began = slot, r.began
	asked := false
	defer func() {
		if !asked {
			r.part(c)
			c.release()
		}
	}()
	token := r.listen(c)
	payload, buffer, err := r.handler.payload(a, token)
	if err != nil {
		return "", err
	}
	if c.payload = buffer; buffer != nil {
		if full := r.handler.charge(r.container.ID(), buffer); full != nil {
			return "", full
		}
	}
	if a.era == legacy {
		c.key = keyOf(a.session, a.message.ID)
		if refused = r.face.begin(c); refused != "" {
			return refused, nil
		}
		c.entered = true
	}
	asked = true
	r.calls = append(r.calls, c)
	r.waiting++
	if c.ask, err = r.container.Ask(a.kind, payload, c); err != nil {
		// It stays where it is: it may have been told something already.
		c.over = true
		r.waiting--
		r.part(c)
	}
	return "", err
}

// listen gives a call that wants progress its token on the wire, and has it hear
// what comes for that. Where responses are always JSON nobody hears it.
func (r *reply) listen(c *call) (wire []byte) {
	token := c.asking.meta.ProgressToken
	if !codec.IsProgressToken(token) {
		return nil
	}
	wire = r.face.tokens.mint()
	if r.handler.cfg.SSEAfter >= 0 {
		if r.queue == nil {
			r.queue = newQueue()
		}
		c.listener = r.queue.listener(wire, token)
		r.face.tokens.listen(c.listener)
	}
	return wire
}

// deafen ends that.
func (r *reply) deafen(c *call) {
	if c.listener != nil {
		r.face.tokens.forget(c.listener)
		r.queue.leave(c.listener)
		c.listener = nil
	}
}

// finish is the end of a call for its client.
func (r *reply) finish(c *call, why ending) {
	c.over = true
	r.waiting--
	r.part(c)
	took := time.Since(c.began)
	r.handler.observer.Exchange(c.asking.kind, c.outcome.String(), took)
	r.handler.logExchange(r.container.ID(), c.asking.kind.Name(), c.outcome.String(), took)
	if why == callLeft {
		r.x.spoilt = true
	}
	c.conclude(why)
	r.status = c.status
	r.put(c.slot, c.out)
	c.out = nil
}

// part takes a call out of wherever it is known.
func (r *reply) part(c *call) {
	r.deafen(c)
	if c.entered {
		r.face.finish(c)
		c.entered = false
	}
	if c.payload != nil {
		c.payload.Release()
		c.payload = nil
	}
}
