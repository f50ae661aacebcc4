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
	return h.renderedResult(a, s.Answer.Body), fasthttp.StatusOK
}

func (h *Handler) renderedResult(a *asking, result []byte) *codec.Buffer {
	out := codec.GetBuffer(envelope + len(a.message.ID) + len(result) + h.room(a.era))
	// The response without its result, up to where that goes.
	out.B = codec.AppendResponse(out.B, a.message.ID, nil)
	out.B = out.B[:len(out.B)-len("}")]
	var err error
	if a.era == modern {
		out.B, err = codec.AppendModernResult(out.B, result, a.kind, h.ours.serverInfo)
	} else {
		out.B, err = codec.AppendLegacyResult(out.B, result, a.kind)
	}
	if err != nil {
		out.Release()
		fault := unrendered(err)
		return errorResponse(a.message.ID, fault.Append(nil))
	}
	out.B = append(out.B, '}')
	return out
}

// room is what an era's results may have more than the far side's.
func (h *Handler) room(e era) int {
	const members = `"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"":},` + codec.MetaServerInfo
	if e == legacy {
		return 0
	}
	return len(members) + len(h.ours.serverInfo)
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
