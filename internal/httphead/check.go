package httphead

import (
	"bytes"
	"errors"

	"github.com/valyala/fasthttp"
)

// What is wrong with a head that fasthttp would take.
var (
	errTLS          = errors.New("it begins as TLS does, and plain HTTP is spoken here")
	errFirst        = errors.New("it does not begin with a method")
	errBareLineFeed = errors.New("a line of the head ends without a carriage return")
	errFolded       = errors.New("a line of the head begins with white space")
	errVersion      = errors.New("the first line does not end with HTTP/1.1 or HTTP/1.0")
	errName         = errors.New("there is a space in a header's name")
	errCoding       = errors.New("Transfer-Encoding may be chunked only")
	errTwoLengths   = errors.New("there are both Transfer-Encoding and Content-Length")
	errHost         = errors.New("the Host is none")
)

// tlsRecord is how a TLS handshake begins.
const tlsRecord = 0x16

// checkFirst refuses by its first byte what will never become a request: there
// need not be a line feed to wait for.
func checkFirst(b byte) error {
	switch {
	case b == tlsRecord:
		return errTLS
	case b <= ' ' && b != '\n', b >= 0x7f:
		return errFirst
	}
	return nil
}

// endsRequestLine refuses by its end what other protocols begin with: they may
// not send another line until they are answered.
func endsRequestLine(line []byte) bool {
	return bytes.HasSuffix(line, []byte(" HTTP/1.1\r\n")) || bytes.HasSuffix(line, []byte(" HTTP/1.0\r\n"))
}

// check judges a head that fasthttp has parsed.
func check(header *fasthttp.RequestHeader) error {
	if !isHost(header.Host()) {
		return errHost
	}
	return checkLines(header.RawHeaders(), header.ContentLength())
}

// checkLines looks at a head's lines as they came: fasthttp hides some of them,
// and takes some names that are none. Length is what it made of them.
func checkLines(lines []byte, length int) error {
	coding, declared := false, false
	for len(lines) > 0 {
		end := bytes.IndexByte(lines, '\n')
		if end < 0 {
			end = len(lines) - 1
		}
		line := lines[:end+1]
		lines = lines[end+1:]
		colon := bytes.IndexByte(line, ':')
		if colon < 0 {
			continue // the empty line
		}
		name := line[:colon]
		if bytes.IndexByte(name, ' ') >= 0 {
			return errName
		}
		coding = coding || is(name, "transfer-encoding")
		declared = declared || is(name, "content-length")
	}
	switch {
	case coding && length != Chunked:
		return errCoding
	case coding && declared:
		return errTwoLengths
	}
	return nil
}

// is compares a name with one in lower case.
func is(name []byte, lower string) bool {
	return len(name) == len(lower) && bytes.EqualFold(name, []byte(lower))
}

// ofHosts has the bytes that may be part of a host and its port.
var ofHosts = func() (of [256]bool) {
	for _, b := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:[]%!$&'()*+,;=") {
		of[b] = true
	}
	return of
}()

func isHost(host []byte) bool {
	for _, b := range host {
		if !ofHosts[b] {
			return false
		}
	}
	return true
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' }
