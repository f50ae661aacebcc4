package codec

import "encoding/binary"

// AskHeaderSize is the number of bytes before an ask's payload: four of
// channel, one of kind.
const AskHeaderSize = 5

// Ask is a decoded message of /requests. Payload is borrowed from the frame.
type Ask struct {
	Channel uint32
	Kind    Kind
	Payload []byte
}

// AppendAskHeader appends the first AskHeaderSize bytes of an ask frame, which
// the payload must follow (protocol R1).
func AppendAskHeader(dst []byte, channel uint32, k Kind) []byte {
	dst = binary.BigEndian.AppendUint32(dst, channel)
	return append(dst, byte(k))
}

// AppendAsk appends an ask frame: [channel: u32 big-endian][kind: u8][payload]
// (protocol R1).
func AppendAsk(dst []byte, channel uint32, k Kind, payload []byte) []byte {
	return append(AppendAskHeader(dst, channel, k), payload...)
}

// DecodeAsk decodes an ask frame. It fails with ErrTruncated or an
// *UnknownKindError (protocol D4). The payload is not examined, except that
// the one of a kind that carries none is dropped (protocol D3).
func DecodeAsk(b []byte) (Ask, error) {
	if len(b) < AskHeaderSize {
		return Ask{}, ErrTruncated
	}
	a := Ask{Channel: binary.BigEndian.Uint32(b), Kind: Kind(b[4])}
	if !a.Kind.Known() {
		return Ask{}, &UnknownKindError{a.Kind}
	}
	if kinds[a.Kind].payload != noPayload {
		a.Payload = b[AskHeaderSize:len(b):len(b)]
	}
	return a, nil
}
