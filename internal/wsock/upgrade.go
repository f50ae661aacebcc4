package wsock

import (
	"crypto/sha1"
	"encoding/base64"
	"errors"
)

// acceptGUID is what RFC 6455 adds to a key to prove that the server meant it.
const acceptGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// keySize is the length of a Sec-WebSocket-Key: 16 bytes in base64.
const keySize = 24

// What is wrong with an upgrade request; each is answered with 426 (protocol
// W8).
var (
	ErrNoUpgrade    = errors.New("the Upgrade header does not name websocket")
	ErrNoConnection = errors.New("the Connection header does not name Upgrade")
	ErrVersion      = errors.New("the Sec-WebSocket-Version is not 13")
	ErrKey          = errors.New("the Sec-WebSocket-Key is not one of 16 bytes in base64")
)

// RequestHeader is what is asked of a request: a *fasthttp.RequestHeader is
// one.
type RequestHeader interface {
	// PeekAll returns the values of all headers of this canonical name; they
	// may be borrowed until the next call.
	PeekAll(name string) [][]byte
}

// CheckUpgrade judges the headers of an upgrade request; method and HTTP
// version are the caller's to judge. It returns the request's key, which is
// borrowed from h. Extensions and subprotocols are offered in vain (protocol
// W1). It allocates nothing.
func CheckUpgrade(h RequestHeader) (key []byte, err error) {
	if !anyToken(h.PeekAll("Upgrade"), "websocket") {
		return nil, ErrNoUpgrade
	}
	if !anyToken(h.PeekAll("Connection"), "upgrade") {
		return nil, ErrNoConnection
	}
	if v := h.PeekAll("Sec-Websocket-Version"); len(v) != 1 || string(v[0]) != "13" {
		return nil, ErrVersion
	}
	keys := h.PeekAll("Sec-Websocket-Key")
	if len(keys) != 1 || !validKey(keys[0]) {
		return nil, ErrKey
	}
	return keys[0], nil
}

func validKey(key []byte) bool {
	if len(key) != keySize {
		return false
	}
	var nonce [18]byte // what 24 characters decode to at most
	n, err := base64.StdEncoding.Decode(nonce[:], key)
	return err == nil && n == 16
}

// AppendSwitching appends the 101 response to a request with this key.
func AppendSwitching(dst, key []byte) []byte {
	dst = append(dst, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "...)
	dst = appendAccept(dst, key)
	return append(dst, "\r\n\r\n"...)
}

// appendAccept appends the Sec-WebSocket-Accept that belongs to the key, which
// is keySize long.
func appendAccept(dst, key []byte) []byte {
	var challenge [keySize + len(acceptGUID)]byte
	sum := sha1.Sum(append(append(challenge[:0], key...), acceptGUID...))
	return base64.StdEncoding.AppendEncode(dst, sum[:])
}

// anyToken reports whether one of the comma-separated lists holds the token,
// which is in lower case, in any case.
func anyToken(lists [][]byte, token string) bool {
	for _, list := range lists {
		for len(list) > 0 {
			var item []byte
			if item, list = cutToken(list); equalFold(item, token) {
				return true
			}
		}
	}
	return false
}

// cutToken splits off a list's first item, without the space around it.
func cutToken(list []byte) (item, rest []byte) {
	for i, b := range list {
		if b == ',' {
			return trim(list[:i]), list[i+1:]
		}
	}
	return trim(list), nil
}

func trim(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' }

func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
