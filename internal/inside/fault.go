package inside

import (
	"encoding/json"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// faultData is what a client may read from the error of a call that got no
// answer.
type faultData struct {
	Reason string `json:"reason"`          // the mux.Outcome's name, the name of a limit, or reasonInputRequired
	Cause  string `json:"cause,omitempty"` // unreadable: what is wrong with the answer
	Limit  int    `json:"limit,omitempty"` // too big, or no room: the limit in bytes
}

// faultOf is the error of a call that ended without an answer that can be given
// to its client.
func faultOf(s mux.Settlement) codec.Error {
	data := faultData{Reason: s.Outcome.String()}
	var message string
	switch s.Outcome {
	case mux.Unreadable:
		message = "the answer could not be read"
		if s.Err != nil {
			data.Cause = s.Err.Error()
		}
	case mux.NotServed:
		message = "the request was not served: the server closed its path without an answer"
	case mux.TooBig:
		message = "the answer is too big"
		data.Limit = s.Limit
	case mux.NoRoom:
		return fullFault(s.Err)
	default:
		message = stoppedMessage(s.Announced)
	}
	return fault(message, data)
}

// stoppedMessage says whether it is safe to try again.
func stoppedMessage(announced bool) string {
	if announced {
		return "the gateway is shutting down: the request may have been carried out, and its answer is lost"
	}
	return "the gateway is shutting down: no server had heard of this request: it was not carried out, try again"
}

// reasonInputRequired is faultData's reason for a result that asks for more input.
const reasonInputRequired = "input-required"

func fault(message string, data faultData) codec.Error {
	raw, err := json.Marshal(data)
	if err != nil {
		raw = nil
	}
	return codec.Error{Code: codeInternal, Message: message, Data: raw}
}
