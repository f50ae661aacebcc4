package inside

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/pkg/mux"
)

// Over a limit a request is refused by the limit's name, and told how much is
// allowed. Of those that package mux keeps, its errors say which; the event
// streams of a container are counted by its Face.

// errTooManyStreams refuses an event stream.
var errTooManyStreams = errors.New("too many event streams of one container")

// errSessionEnded refuses what is of a session that was good a moment ago.
var errSessionEnded = errors.New("the session was ended meanwhile")

// overLimit is the refusal of what would be over a limit; ok says that err is that
// of one.
func (f *Faces) overLimit(err error) (reason Reason, d detail, ok bool) {
	if err == nil { // mostly, and then nothing is allocated
		return "", detail{}, false
	}
	var over *mux.LimitError
	switch {
	case errors.As(err, &over):
		reason, d = Reason(over.Limit.String()), limitDetail(over.Limit.String(), over.Most)
	case err == errTooManyStreams:
		reason, d = ReasonMaxStreams, limitDetail(string(ReasonMaxStreams), f.maxStreams)
	default:
		return "", detail{}, false
	}
	return reason, d, true
}

// limitDetail names a limit, which has the name of its flag and of its reason.
func limitDetail(name string, most int) detail {
	data, err := json.Marshal(faultData{Reason: name, Limit: most})
	if err != nil {
		data = nil
	}
	return detail{cause: "the limit is " + strconv.Itoa(most) + " (--" + name + ")", data: data}
}

// entryRefusal is the refusal of a request that did not enter its container.
func (h *Handler) entryRefusal(err error, id []byte) (Reason, detail) {
	reason, d, ok := h.faces.overLimit(err)
	if !ok {
		return ReasonUnknownSession, detail{}
	}
	d.id = id
	return reason, d
}

// refuseRequest is refuse for what the client has to survive: of a session, one of
// its requests. Some clients of the legacy era take any status but 200 for the end
// of the session, with all that is in flight.
func (h *Handler) refuseRequest(x *exchange, e era, reason Reason, d detail) {
	h.refuse(x, reason, d)
	if e == legacy {
		x.response.SetStatusCode(fasthttp.StatusOK)
	}
}

// refuseEntry answers a request that did not enter its container.
func (h *Handler) refuseEntry(x *exchange, err error, id []byte) {
	reason, d := h.entryRefusal(err, id)
	h.refuse(x, reason, d)
}

// takeStream counts a stream in that is in no table: a response that became one, or
// a subscription that is about to open. It reports false if there are too many.
func (f *Face) takeStream() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crammedLocked() {
		return false
	}
	f.unlisted++
	return true
}

// leaveStream counts it out.
func (f *Face) leaveStream() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unlisted--
}

// crammedLocked reports whether the container may have no further stream.
func (f *Face) crammedLocked() bool {
	most := f.faces.maxStreams
	return most > 0 && f.streams.len()+f.unlisted >= most
}

// Streams is how many event streams the container's clients have open, of all kinds.
func (f *Face) Streams() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.streams.len() + f.unlisted
}
