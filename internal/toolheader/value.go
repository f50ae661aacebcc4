package toolheader

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

const (
	encodedPrefix = "=?base64?"
	encodedSuffix = "?="
)

// Encode is the form that text has as the value of a Mcp-Name or Mcp-Param header:
// itself, or in Base64 if it is not what goes through every proxy unchanged, or
// looks like what is in Base64. Text that is empty is encoded, as many take an
// empty header for none.
func Encode(text string) string {
	safe := text != "" && strings.Trim(text, " ") == text && !(strings.HasPrefix(text, encodedPrefix) && strings.HasSuffix(text, encodedSuffix))
	for i := 0; safe && i < len(text); i++ {
		safe = ' ' <= text[i] && text[i] <= '~'
	}
	if safe {
		return text
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(text)) + encodedSuffix
}

// Decode is what such a value says, without the white space around it. It reports
// false for one that announces Base64 and is not padded Base64 of UTF-8. Any other
// says what it is. The text may be a view of value.
func Decode(value []byte) (text []byte, ok bool) {
	value = bytes.Trim(value, " \t")
	encoded, ok := bytes.CutPrefix(value, []byte(encodedPrefix))
	if !ok {
		return value, true
	}
	if encoded, ok = bytes.CutSuffix(encoded, []byte(encodedSuffix)); !ok {
		return value, true
	}
	if bytes.ContainsAny(encoded, "\r\n") { // which the decoder skips
		return nil, false
	}
	text, err := base64.StdEncoding.Strict().AppendDecode(nil, encoded)
	return text, err == nil && utf8.Valid(text)
}

// visible reports whether all of a header's value may be in one.
func visible(value []byte) bool {
	for _, c := range value {
		if c != '\t' && (c < ' ' || c > '~') {
			return false
		}
	}
	return true
}

// isToken reports whether text may be in the name of a header.
func isToken(text []byte) bool {
	for _, c := range text {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return len(text) > 0
}
