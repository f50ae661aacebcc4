package codec

import "bytes"

// AppendEvent appends valid JSON as one server-sent event of type message. A
// line break, which can be in JSON only between tokens, would end the data
// field, so each raw CR or LF becomes a space (protocol D6).
func AppendEvent(dst, json []byte) []byte {
	dst = append(dst, "event: message\ndata: "...)
	start := len(dst)
	dst = append(dst, json...)
	breaksToSpaces(dst[start:], '\n')
	breaksToSpaces(dst[start:], '\r')
	return append(dst, "\n\n"...)
}

func breaksToSpaces(b []byte, c byte) {
	for {
		i := bytes.IndexByte(b, c)
		if i < 0 {
			return
		}
		b[i] = ' '
		b = b[i+1:]
	}
}
