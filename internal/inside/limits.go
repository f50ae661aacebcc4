package inside

import (
	"encoding/json"
	"errors"

	"github.com/diverge-network/gateway/internal/limit"
	"github.com/diverge-network/gateway/pkg/codec"
)

// short refuses what begins something while memory is short: before its body is
// read. A DELETE ends something, and a preflight holds nothing.
func (h *Handler) short(x *exchange) bool {
	method := &x.request.Header
	if h.cfg.Memory == nil || !method.IsPost() && !method.IsGet() || !h.cfg.Memory.Short() {
		return false
	}
	most, _ := h.cfg.Memory.Limit()
	h.refuse(x, ReasonMemory, detail{data: limitData(string(ReasonMemory), most)})
	return true
}

// limitData is the data of an error for a limit, which names it and says what it is.
func limitData(reason string, most int64) []byte {
	raw, err := json.Marshal(faultData{Reason: reason, Limit: int(most)})
	if err != nil {
		return nil
	}
	return raw
}

// fullOf is the limit that an error is of, or nil.
func fullOf(err error) *limit.Full {
	var full *limit.Full
	errors.As(err, &full)
	return full
}

// reasonOf is why a request is refused that there is no room for.
func reasonOf(full *limit.Full) Reason {
	if full.Total {
		return ReasonBufferedTotal
	}
	return ReasonBuffered
}

// detailOfLimit is what a request is told that is refused for such a reason.
func (h *Handler) detailOfLimit(refused Reason) detail {
	most := int64(0)
	switch refused {
	case ReasonBuffered:
		most, _ = h.cfg.Budget.Container()
	case ReasonBufferedTotal:
		most, _ = h.cfg.Budget.Total()
	default:
		return detail{}
	}
	return detail{data: limitData(string(refused), most)}
}

// charge counts what a request or its answer is held in, for a container.
func (h *Handler) charge(container string, b *codec.Buffer) *limit.Full {
	return h.cfg.Budget.Charge(container, b)
}

// fullFault is the error in place of an answer that there is no room for.
func fullFault(why error) codec.Error {
	full := fullOf(why)
	if full == nil {
		return fault("there is no room for the answer", faultData{Reason: string(ReasonBuffered)})
	}
	return fault("there is no room for the answer: "+full.Error(),
		faultData{Reason: string(reasonOf(full)), Limit: int(full.Limit)})
}

// afford counts the response of a call, where it is not the answer as it came in,
// which is counted; and gives an error in its place if there is no room for it.
func (c *call) afford(answer *codec.Buffer) {
	if c.out == answer || c.out == nil {
		return
	}
	if full := c.handler.charge(c.reply.container.ID(), c.out); full != nil {
		c.fail(fullFault(full))
	}
}
