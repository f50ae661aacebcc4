package inside

import (
	"errors"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// rendered turns what became of an ask into the response of its client: the body,
// and the HTTP status for where that is all of the response. The far side may be
// of another era than the client; what only the other can read is rewritten.
func (h *Handler) rendered(a *asking, s mux.Settlement) (out *codec.Buffer, status int) {
	id := a.message.ID
	switch {
	case s.Outcome != mux.Answered:
		fault := faultOf(s)
		return errorResponse(id, fault.Append(nil)), fasthttp.StatusOK
	case s.Answer.Tag == codec.TagError && a.era == legacy:
		return errorResponse(id, s.Answer.Body), fasthttp.StatusOK
	case s.Answer.Tag == codec.TagError:
		return modernError(id, s.Answer.Body)
	}
	return h.renderedResult(a, &s), fasthttp.StatusOK
}

// renderedResult is made in the frame that the answer came in, where that can be:
// the answer is not good any more then.
func (h *Handler) renderedResult(a *asking, s *mux.Settlement) (out *codec.Buffer) {
	var err error
	if a.era == modern {
		out, err = codec.ModernResponse(s.Frame, s.Answer, a.message.ID, a.kind, h.ours.serverInfo)
	} else {
		out, err = codec.LegacyResponse(s.Frame, s.Answer, a.message.ID, a.kind)
	}
	if err != nil {
		fault := unrendered(err)
		return errorResponse(a.message.ID, fault.Append(nil))
	}
	return out
}

// unrendered is the error of a result that cannot be given to its client.
func unrendered(err error) codec.Error {
	if errors.Is(err, codec.ErrInputRequired) {
		return fault("the server asks for input before it answers, which a client of this session's revision cannot give: "+
			"use one of "+modernRevision, faultData{Reason: reasonInputRequired})
	}
	return fault("the answer could not be read", faultData{Reason: mux.Unreadable.String(), Cause: err.Error()})
}

// modernError is a far side's error as a modern client gets it.
func modernError(id, object []byte) (out *codec.Buffer, status int) {
	mapped := codec.GetBuffer(len(object))
	defer mapped.Release()
	var (
		code int32
		err  error
	)
	mapped.B, code, err = codec.AppendModernError(mapped.B, object)
	if err != nil {
		fault := unrendered(err)
		return errorResponse(id, fault.Append(nil)), fasthttp.StatusOK
	}
	return errorResponse(id, mapped.B), statusOf(modern, code)
}
