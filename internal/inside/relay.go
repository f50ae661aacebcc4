package inside

import (
	"time"

	"github.com/diverge-network/gateway/pkg/mux"
)

// relay asks the provider's server on behalf of a request, and waits for what
// comes of it. The payload is a view of the request's body, which stays as it is
// until relay returns.
func (h *Handler) relay(x *exchange, c *mux.Container, a *asking) {
	face := c.Sink().(*Face)
	id, kind := a.message.ID, a.kind
	payload, _ := kind.Payload(a.message.Params)
	key := keyOf(a.session, id)
	made := takeCall(id, x.client.conn)
	made.handler, made.asking = h, *a
	if refused := face.begin(key, made); refused != "" {
		made.release()
		d := detail{}
		if refused == ReasonDuplicateID {
			d.id = id
		}
		h.refuse(x, refused, d)
		return
	}
	var ask *mux.Ask
	over := false
	defer func() {
		if over {
			return
		}
		// A panic: nobody may read the request once we return.
		face.finish(key, made)
		if ask != nil && !ask.Leave() {
			<-made.done
		}
	}()

	began := time.Now()
	ask = c.Ask(kind, payload, made)
	how := made.wait(ask)
	over = true
	face.finish(key, made)
	took := time.Since(began)
	h.observer.Exchange(kind, made.outcome.String(), took)
	h.logExchange(c.ID(), kind.Name(), made.outcome.String(), took)
	h.conclude(x, made, how)
	made.release()
}

// conclude answers a request whose ask has ended for it.
func (h *Handler) conclude(x *exchange, c *call, how ending) {
	switch how {
	case callSettled:
		x.response.SetStatusCode(c.status)
		x.answer(mediaJSON, c.out)
		c.out = nil
	case callEnded:
		h.fail(x, c.id, fault("the session was ended while this request waited for its answer", faultData{Reason: c.outcome.String()}))
	case callCancelled:
		// A cancelled request has no response: an event stream without an event
		// says so. Clients take a 202 for a broken connection.
		x.response.Header.SetContentType(mediaStream)
	case callLeft:
		// It may have ended its half only, and read on.
		h.fail(x, c.id, fault("the client ended its connection while this request waited for its answer", faultData{Reason: c.outcome.String()}))
		x.spoilt = true
	}
}
