package inside

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/diverge-network/gateway/internal/limit"
	"github.com/diverge-network/gateway/pkg/codec"
)

// short refuses what begins something while memory is short: before its body is
// read. A DELETE ends something, and a preflight holds nothing.
func (h *Handler) short(x *exchange) bool {
	head := &x.request.Header
	if !h.cfg.Memory.Short() || !head.IsPost() && !head.IsGet() {
		return false
	}
	h.refuse(x, ReasonMemory, detail{data: roomData(string(ReasonMemory), h.cfg.Memory.Limit())})
	return true
}

// roomData is the data of an error for a limit on bytes: its name, and what it is.
func roomData(name string, most int64) []byte {
	raw, err := json.Marshal(faultData{Reason: name, Limit: int(most)})
	if err != nil {
		return nil
	}
	return raw
}

// charge counts what b has grown to for a container, until it is released; or says
// why that may not be held.
func (h *Handler) charge(container string, b *codec.Buffer) *limit.Full {
	return h.cfg.Budget.Charge(container, b)
}

// fullOf is the limit that an error is of, or nil.
func fullOf(err error) *limit.Full {
	var full *limit.Full
	errors.As(err, &full)
	return full
}

// refuseFull refuses a request that there is no room for.
func (h *Handler) refuseFull(x *exchange, full *limit.Full, id []byte) {
	h.refuse(x, Reason(full.Name), fullDetail(full, id))
}

func fullDetail(full *limit.Full, id []byte) detail {
	return detail{id: id, cause: "the limit is " + strconv.FormatInt(full.Most, 10) + " bytes (--" + full.Name + ")",
		data: roomData(full.Name, full.Most)}
}

// fullFault is the error in place of an answer that there is no room for.
func fullFault(why error) codec.Error {
	full := fullOf(why)
	if full == nil {
		return fault("there is no room for the answer", faultData{Reason: limit.Buffered})
	}
	return fault("there is no room for the answer: "+full.Error(), faultData{Reason: full.Name, Limit: int(full.Most)})
}

// afford counts the response of a call, where it is not the answer as it came in,
// which is counted; and gives an error in its place if there is no room for it.
func (c *call) afford(answer *codec.Buffer) {
	if c.out == nil || c.out == answer {
		return
	}
	if full := c.handler.charge(c.reply.container.ID(), c.out); full != nil {
		c.handler.observer.Refused(Listener, full.Name)
		c.fail(fullFault(full))
	}
}
