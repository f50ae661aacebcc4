package inside

import "bytes"

const (
	mediaJSON   = "application/json"
	mediaStream = "text/event-stream"
)

// accepts reports whether the Accept header, given line by line, allows a media
// type. A wildcard allows it, a quality of zero does not.
func accepts(lines [][]byte, media string) bool {
	for _, line := range lines {
		for len(line) > 0 {
			var item []byte
			item, line, _ = bytes.Cut(line, []byte(","))
			kind, parameters, _ := bytes.Cut(item, []byte(";"))
			if covers(bytes.TrimSpace(kind), media) && !refusedQuality(parameters) {
				return true
			}
		}
	}
	return false
}

// covers reports whether a media range, "a/b", "a/*" or "*/*", holds a media type.
func covers(mediaRange []byte, media string) bool {
	if string(mediaRange) == "*/*" {
		return true
	}
	if major, ok := bytes.CutSuffix(mediaRange, []byte("/*")); ok {
		return len(media) > len(major) && media[len(major)] == '/' && equalFold(major, media[:len(major)])
	}
	return equalFold(mediaRange, media)
}

// refusedQuality reports whether parameters hold a quality of zero ("q=0.000").
func refusedQuality(parameters []byte) bool {
	for len(parameters) > 0 {
		var p []byte
		p, parameters, _ = bytes.Cut(parameters, []byte(";"))
		p = bytes.TrimSpace(p)
		if len(p) > 2 && p[0]|0x20 == 'q' && p[1] == '=' {
			return len(bytes.Trim(p[2:], "0.")) == 0
		}
	}
	return false
}

// isMedia reports whether a Content-Type names a media type, whatever its parameters.
func isMedia(contentType []byte, media string) bool {
	kind, _, _ := bytes.Cut(contentType, []byte(";"))
	return equalFold(bytes.TrimSpace(kind), media)
}

// equalFold compares with an ASCII string in lower case, ASCII case ignored.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range b {
		c := b[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
