package inside

import (
	"errors"

	"github.com/diverge-network/gateway/pkg/codec"
)

// maxBatch is the most messages that a batch may have.
const maxBatch = 100

// array serves a POST whose body is a JSON array. That is a batch up to 2025-03-26, and nothing later.
func (h *Handler) array(x *exchange) {
	p := &x.posting
	elements, err := codec.AppendBatch(nil, x.text(), maxBatch)
	if err != nil {
		var invalid *codec.InvalidError
		if !errors.As(err, &invalid) {
			h.refuse(x, ReasonNotJSON, detail{cause: err.Error()})
			return
		}
		h.refuse(x, ReasonNotMessage, detail{cause: invalid.Reason})
		return
	}
	if fault := faultOfBatch(elements); fault != "" {
		h.refuse(x, ReasonNotMessage, detail{cause: fault})
		return
	}
	if refused, d := p.stated.judge(); refused != "" {
		h.refuse(x, refused, d)
		return
	}
	if p.noSession == "" && p.sender.revision > lastWithBatches {
		h.refuse(x, ReasonNotMessage, detail{cause: "it is a batch, which " + p.sender.revision.String() +
			" does not have; send its messages one by one"})
		return
	}
	c := h.enterPosting(x)
	if c == nil {
		return
	}
	defer c.Exit()
	h.batch(x, c, p.sender, elements)
}

// faultOfBatch says why an array can be no batch of any revision, or "".
func faultOfBatch(elements [][]byte) string {
	if len(elements) == 0 {
		return "the batch is empty"
	}
	for _, element := range elements {
		m, err := codec.ParseMessage(element)
		if err != nil {
			continue
		}
		if m.Form == codec.FormRequest && string(m.Method) == methodInitialize {
			return "initialize cannot be in a batch; send it alone"
		}
		if meta, err := metaOf(&m); err == nil && meta.ProtocolVersion != nil && m.Form != codec.FormResponse {
			return "it is a batch with a message of " + modernRevision + ", which has none; send its messages one by one"
		}
	}
	return ""
}
