package wsock

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

const (
	// maxResponse bounds the response to an upgrade, in bytes: its head, or
	// its head and what is read of a refusal's body.
	maxResponse = 64 << 10

	// maxRefusal bounds the reason that is taken from a refusal's body.
	maxRefusal = 1 << 10
)

// handshakeHeaders are Dial's own to set, or to leave out.
var handshakeHeaders = []string{
	"Host", "Upgrade", "Connection", "Content-Length", "Transfer-Encoding",
	"Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Extensions", "Sec-Websocket-Protocol",
}

func checkHeader(h http.Header) error {
	for _, name := range handshakeHeaders {
		if _, set := h[name]; set {
			return fmt.Errorf("the header %s is part of the handshake: leave it out", name)
		}
	}
	return nil
}

// exchange sends the upgrade request and judges the response.
func exchange(nc net.Conn, u *url.URL, header http.Header) (early []byte, err error) {
	var nonce [16]byte
	rand.Read(nonce[:])
	key := base64.StdEncoding.EncodeToString(nonce[:])
	if _, err := nc.Write(appendRequest(nil, u, key, header)); err != nil {
		return nil, fmt.Errorf("sending the upgrade request: %w", err)
	}
	br := bufio.NewReaderSize(io.LimitReader(nc, maxResponse), 1<<10)
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodGet})
	if err != nil {
		return nil, fmt.Errorf("reading the answer to the upgrade request: %w", err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, &RefusedError{Status: resp.StatusCode, Reason: firstLine(resp.Body)}
	}
	if err := checkSwitching(resp.Header, key); err != nil {
		return nil, err
	}
	early, _ = br.Peek(br.Buffered())
	return early, nil
}

func appendRequest(dst []byte, u *url.URL, key string, header http.Header) []byte {
	out := bytes.NewBuffer(dst)
	fmt.Fprintf(out, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n", u.RequestURI(), u.Host, key)
	header.Write(out) // drops line breaks inside values
	out.WriteString("\r\n")
	return out.Bytes()
}

// checkSwitching judges the headers of a 101.
func checkSwitching(h http.Header, key string) error {
	accept := h.Values("Sec-Websocket-Accept")
	switch {
	case !headerNames(h, "Upgrade", "websocket"):
		return fmt.Errorf("%w: Upgrade is %q", ErrHandshake, h.Values("Upgrade"))
	case !headerNames(h, "Connection", "upgrade"):
		return fmt.Errorf("%w: Connection is %q", ErrHandshake, h.Values("Connection"))
	case len(accept) != 1 || accept[0] != string(appendAccept(nil, []byte(key))):
		return fmt.Errorf("%w: Sec-WebSocket-Accept is %q, which does not belong to the key sent", ErrHandshake, accept)
	}
	for _, unasked := range []string{"Sec-Websocket-Extensions", "Sec-Websocket-Protocol"} {
		if v, set := h[unasked]; set {
			return fmt.Errorf("%w: %s is %q, and none was offered", ErrHandshake, unasked, v)
		}
	}
	return nil
}

func headerNames(h http.Header, name, token string) bool {
	for _, v := range h.Values(name) {
		if anyToken([][]byte{[]byte(v)}, token) {
			return true
		}
	}
	return false
}

// firstLine is the reason that a refusal's body gives.
func firstLine(body io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(body, maxRefusal)) // what came is reason enough
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.ToValidUTF8(strings.TrimSpace(line), "�")
}
