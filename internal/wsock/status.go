package wsock

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/gobwas/ws"
)

// judgeClose reads the body of the peer's Close: the status it gave, NoStatus
// if none that is valid, and what we answer. Whatever it holds, the peer has
// closed cleanly (protocol W6).
func judgeClose(body []byte) (code, answer uint16, reason string) {
	if len(body) == 0 {
		return NoStatus, NoStatus, ""
	}
	if len(body) == 1 {
		return NoStatus, uint16(ws.StatusProtocolError), "a status has two bytes"
	}
	code = binary.BigEndian.Uint16(body)
	switch {
	case !sendable(code):
		return NoStatus, uint16(ws.StatusProtocolError), "the status is not valid"
	case !utf8.Valid(body[2:]):
		return code, uint16(ws.StatusInvalidFramePayloadData), "the reason is not UTF-8"
	}
	return code, code, ""
}

// sendable says whether a Close may carry this status: those that RFC 6455 and
// its registry define, but for the ones that stand for the absence of a Close,
// and those left to libraries and applications.
func sendable(code uint16) bool {
	switch {
	case code >= 1000 && code <= 1003, code >= 1007 && code <= 1014:
		return true
	}
	return code >= 3000 && code <= 4999
}

// appendCloseBody appends the body of a Close, its reason cut to what fits at
// a character's boundary.
func appendCloseBody(dst []byte, code uint16, reason string) []byte {
	if code == NoStatus {
		return dst
	}
	if cut := maxReason; len(reason) > cut {
		for !utf8.RuneStart(reason[cut]) {
			cut--
		}
		reason = reason[:cut]
	}
	return append(binary.BigEndian.AppendUint16(dst, code), reason...)
}
