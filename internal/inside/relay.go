package inside

import (
	"time"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// relay asks the provider's server on behalf of a request, and waits for what
// comes of it. The payload is a view of the request's body, which stays as it is
// until relay returns.
func (h *Handler) relay(ctx *fasthttp.RequestCtx, c *mux.Container, s session, id []byte, kind codec.Kind, payload []byte) {
	face := c.Sink().(*Face)
	key := keyOf(s.id, id)
	made := takeCall(id, ctx.Response.SwapBody(nil)[:0])
	if refused := face.begin(key, made); refused != "" {
		ctx.Response.SwapBody(made.out)
		made.release()
		d := detail{}
		if refused == ReasonDuplicateID {
			d.id = id
		}
		h.refuse(ctx, refused, d)
		return
	}
	var ask *mux.Ask
	over := false
	defer func() {
		if over {
			return
		}
		// A panic: nobody may read the payload once we return.
		face.finish(key)
		if ask != nil {
			ask.Leave()
		}
	}()

	began := time.Now()
	ask = c.Ask(kind, payload, made)
	how := made.wait(ask, ctx.Conn())
	over = true
	face.finish(key)
	h.observer.Exchange(kind, made.outcome.String(), time.Since(began))
	h.conclude(ctx, made, how)
	made.release()
}

// conclude answers a request whose ask has ended for it.
func (h *Handler) conclude(ctx *fasthttp.RequestCtx, c *call, how ending) {
	switch how {
	case callSettled:
		ctx.SetContentType(mediaJSON)
		ctx.Response.SwapBody(c.out)
	case callEnded:
		e := fault("the session was ended while this request waited for its answer", faultData{Reason: c.outcome.String()})
		ctx.SetContentType(mediaJSON)
		ctx.Response.SwapBody(codec.AppendErrorResponse(c.out, c.id, e.Append(nil)))
	case callCancelled:
		// A cancelled request has no response: an event stream without an event
		// says so. Clients take a 202 for a broken connection.
		ctx.SetContentType(mediaStream)
		ctx.Response.SwapBody(c.out)
	case callLeft:
		ctx.SetConnectionClose()
		ctx.Response.SwapBody(c.out)
	}
}
