package auth

import "bytes"

// Bearer returns the token in the lines of a request's head, as they came over
// the wire: each ends with CRLF or LF, a request line does no harm. The error is
// Missing when no line is an Authorization with a bearer token, and Malformed when
// there is more than one Authorization, a folded one, or more in it than a token.
// A token anywhere else, as in the URL, counts for nothing. The token is a part of
// lines.
func Bearer(lines []byte) (token []byte, err error) {
	const name = "authorization"
	var value []byte
	for found, after := false, false; len(lines) > 0; {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if after && len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
			return nil, Malformed // obsolete folding: others may read on
		}
		after = len(line) > len(name) && line[len(name)] == ':' && bytes.EqualFold(line[:len(name)], []byte(name))
		if !after {
			continue
		}
		if found {
			return nil, Malformed
		}
		found, value = true, line[len(name)+1:]
	}
	const scheme = "bearer"
	value = bytes.Trim(value, " \t")
	if len(value) < len(scheme) || !bytes.EqualFold(value[:len(scheme)], []byte(scheme)) {
		return nil, Missing
	}
	token = bytes.TrimLeft(value[len(scheme):], " ")
	switch {
	case len(value) == len(scheme):
		return nil, Malformed
	case value[len(scheme)] != ' ':
		return nil, Missing // another scheme, whose name begins the same
	case len(token) == 0:
		return nil, Malformed
	}
	for _, stranger := range []byte(" \t,\r") {
		if bytes.IndexByte(token, stranger) >= 0 {
			return nil, Malformed
		}
	}
	return token, nil
}
