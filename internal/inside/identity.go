package inside

import (
	"time"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/auth"
)

// ReasonForbidden is why a request with a good token is refused that is for
// another container (protocol G7).
const ReasonForbidden Reason = "token-of-another"

// reasonOf is why a request is refused whose token is.
func reasonOf(r auth.Refusal) Reason { return "token-" + Reason(r) }

// unidentified are the refusals of who is asked for a token.
func unidentified() []refusal {
	all := []refusal{{ReasonForbidden, fasthttp.StatusForbidden, codeTransport,
		"Forbidden: the token is for another container"}}
	for _, r := range auth.Refusals {
		all = append(all, refusal{reasonOf(r), fasthttp.StatusUnauthorized, codeTransport,
			"Unauthorized: " + r.Told() + " (each request needs a token for the inside listener: gateway token --audience inside makes one)"})
	}
	return all
}

// identify finds whose request it is, and which container it addresses; id is the
// path's, or nil. Nothing of the container has been looked at when it refuses.
func (h *Handler) identify(header *fasthttp.RequestHeader, id []byte) (container string, who auth.Identity, refused Reason, d detail) {
	// A browser asks before it sends a token, and without one.
	if h.keys == nil || header.IsOptions() {
		return containerName(id), who, "", d
	}
	token, err := auth.Bearer(header.RawHeaders())
	if err == nil {
		who, err = h.keys.Verify(token, auth.Inside, h.now())
	}
	if err != nil {
		r := err.(auth.Refusal)
		return "", who, reasonOf(r), detail{challenge: r.Challenge()}
	}
	own, _ := who.Container()
	if id != nil && !who.May(id) {
		return "", auth.Identity{}, ReasonForbidden, d
	}
	return own, who, "", d
}

// rejudgeEvery is how often the tokens of open event streams are looked at again.
const rejudgeEvery = 5 * time.Second

// rejudgeStreams closes the event streams whose tokens are no longer good, until
// Shutdown.
func (h *Handler) rejudgeStreams() {
	ticker := time.NewTicker(rejudgeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			h.rejudge()
		case <-h.stopping:
			return
		}
	}
}

// rejudge closes the event streams whose tokens are no longer good: those that
// have expired, or whose keys are gone (protocol G8).
func (h *Handler) rejudge() {
	now := h.now()
	for _, e := range h.roster.open() {
		h.rejudgeStream(e, now)
	}
}

func (h *Handler) rejudgeStream(e *events, now time.Time) {
	defer h.guardStream(&e.conn)
	who, err := h.keys.Renew(e.identity, now)
	if err != nil {
		e.face.expel(e)
		return
	}
	e.identity = who
}
