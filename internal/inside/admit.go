package inside

import (
	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/pkg/mux"
)

// session is the session of a request, if it is still good.
func (h *Handler) session(header *fasthttp.RequestHeader, container string) (s session, refused Reason) {
	tokens := header.PeekAll(headerSession)
	switch {
	case ambiguous(tokens):
		return session{}, ReasonMalformed
	case len(tokens) == 0 || len(tokens[0]) == 0:
		return session{}, ReasonNoSession
	}
	s, ok := h.faces.verify(container, tokens[0])
	if !ok || !h.live(container, s) {
		return session{}, ReasonUnknownSession
	}
	return s, ""
}

// detailOf is what the refusal of a request without a good session says.
func detailOf(noSession Reason) detail {
	if noSession == ReasonMalformed {
		return detail{cause: "there are two " + headerSession + " headers that differ"}
	}
	return detail{}
}

// enter enters the container of a session that was good, which begins if it must
// (protocol G5); the caller has to exit it. The error is errSessionEnded if the
// session was ended just now, or that of a limit.
func (h *Handler) enter(container string, s session) (*mux.Container, error) {
	c, err := h.mux.Enter(container)
	if err != nil {
		return nil, err
	}
	admitted := false
	defer func() {
		if !admitted {
			c.Exit()
		}
	}()
	if admitted = c.Sink().(*Face).admit(s); !admitted {
		return nil, errSessionEnded
	}
	return c, nil
}

// admit finds the session of a GET or a DELETE, which are of the legacy era, and
// enters its container; or it answers the request. A session that is no good
// leaves no trace.
func (h *Handler) admit(x *exchange, container string) (c *mux.Container, s session, ok bool) {
	if refused, d := statedRevision(&x.request.Header).judge(); refused != "" {
		h.refuse(x, refused, d)
		return nil, session{}, false
	}
	s, refused := h.session(&x.request.Header, container)
	if refused != "" {
		d := detailOf(refused)
		if refused == ReasonNoSession && statedRevision(&x.request.Header).modern() {
			d.cause = modernRevision + " has POST only, and subscriptions/listen in place of GET"
		}
		h.refuse(x, refused, d)
		return nil, session{}, false
	}
	c, err := h.enter(container, s)
	if err != nil {
		h.refuseEntry(x, err, nil)
		return nil, session{}, false
	}
	return c, s, true
}

// live reports whether a session is still good. Its container need not be there.
func (h *Handler) live(container string, s session) bool {
	if c := h.mux.Lookup(container); c != nil {
		return c.Sink().(*Face).live(s)
	}
	return h.faces.live(s)
}
