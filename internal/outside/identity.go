package outside

import (
	"net/http"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/auth"
)

// Why a request with a good token is refused (protocol G7).
const (
	// ReasonForbidden: the token is for another container, or the list is for one
	// for all of them.
	ReasonForbidden Reason = "token-of-another"
	// ReasonNoOwnPath: the token is for all containers, and the path says not which.
	ReasonNoOwnPath Reason = "token-for-all"
)

// reasonOf is why a request is refused whose token is.
func reasonOf(r auth.Refusal) Reason { return "token-" + Reason(r) }

// unidentified are the refusals of who is asked for a token.
func unidentified() []refusal {
	all := []refusal{
		{reason: ReasonForbidden, status: http.StatusForbidden,
			text: "the token is for another container: use the path of the token's, or a token whose sub is this one, or * for all of them and their list"},
		{reason: ReasonNoOwnPath, status: http.StatusNotFound,
			text: "the token is for all containers, so that the path has to say which one: /containers/{id} and then this path"},
	}
	for _, r := range auth.Refusals {
		all = append(all, refusal{reason: reasonOf(r), status: http.StatusUnauthorized,
			text:    r.Told() + ": each request needs a token for the outside listener (gateway token --audience outside makes one)",
			headers: [][2]string{{"WWW-Authenticate", r.Challenge()}}})
	}
	return all
}

// identify finds who has sent a request, and gives a path without a container the
// token's (protocol G2). Nothing of the container has been looked at when it
// refuses.
func (h *Handler) identify(header *fasthttp.RequestHeader, t *target) (who auth.Identity, r Reason) {
	if h.keys == nil {
		return who, ""
	}
	token, err := auth.Bearer(header.RawHeaders())
	if err == nil {
		who, err = h.keys.Verify(token, auth.Outside, h.now())
	}
	if err != nil {
		return who, reasonOf(err.(auth.Refusal))
	}
	switch own, named := who.Container(); {
	case t.list && !who.All(), t.container != nil && !who.May(t.container):
		return auth.Identity{}, ReasonForbidden
	case t.list || t.container != nil:
	case !named:
		return auth.Identity{}, ReasonNoOwnPath
	default:
		t.container = unsafe.Slice(unsafe.StringData(own), len(own)) // only read, as all of the target
	}
	return who, ""
}

// rejudgeEvery is how often the tokens of open sockets are looked at again.
const rejudgeEvery = 5 * time.Second

// rejudgeSockets ends the sockets whose tokens are no longer good, until Shutdown.
func (h *Handler) rejudgeSockets() {
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

// rejudge ends the sockets whose tokens are no longer good: those that have
// expired, or whose keys are gone (protocol G8).
func (h *Handler) rejudge() {
	now := h.now()
	open, _ := h.roster.all()
	for _, m := range open {
		h.rejudgeSocket(m, now)
	}
}

func (h *Handler) rejudgeSocket(m *member, now time.Time) {
	defer h.recovered(panicSocket, m.socket.cut)
	who, err := h.keys.Renew(m.identity, now)
	if err != nil {
		m.socket.expire()
		return
	}
	m.identity = who
}
