// Package origin decides which web pages may speak to a listener. Programs send
// no Origin, or one that they make up to please a server; a browser tells the
// truth, and lets any page try.
package origin

import (
	"bytes"
	"net/netip"
	"strings"
)

// Policy is what is allowed; the zero Policy allows nothing. A request without
// an Origin does not come from a page, and is not to be judged.
type Policy struct {
	allowed  map[string]struct{} // in lower case
	loopback bool
}

// New allows the origins listed, such as https://example.com, and if loopback
// those of this machine, which is safe only for a listener on loopback.
func New(allowed []string, loopback bool) Policy {
	p := Policy{allowed: make(map[string]struct{}, len(allowed)), loopback: loopback}
	for _, name := range allowed {
		p.allowed[strings.ToLower(strings.TrimSuffix(name, "/"))] = struct{}{}
	}
	return p
}

// Allow reports whether pages of an origin, as the header has it, may speak.
func (p Policy) Allow(origin []byte) bool {
	if len(p.allowed) > 0 {
		if _, listed := p.allowed[string(bytes.ToLower(origin))]; listed {
			return true
		}
	}
	return p.loopback && loopbackOrigin(origin)
}

// Same reports whether an origin names the very host that the request was sent
// to, as its Host header has it.
func Same(origin, host []byte) bool {
	_, named, ok := bytes.Cut(origin, []byte("://"))
	return ok && len(host) > 0 && bytes.EqualFold(bytes.TrimSuffix(named, []byte("/")), host)
}

// loopbackOrigin reports whether an origin is a page of this machine: http or
// https, a loopback host, any port.
func loopbackOrigin(origin []byte) bool {
	scheme, host, ok := bytes.Cut(origin, []byte("://"))
	if !ok || !(bytes.EqualFold(scheme, []byte("http")) || bytes.EqualFold(scheme, []byte("https"))) {
		return false
	}
	if bracketed, ok := bytes.CutPrefix(host, []byte("[")); ok {
		address, port, ok := bytes.Cut(bracketed, []byte("]"))
		return ok && (len(port) == 0 || port[0] == ':' && digits(port[1:])) && loopbackAddress(address)
	}
	host, port, hasPort := bytes.Cut(host, []byte(":"))
	if hasPort && !digits(port) {
		return false
	}
	return bytes.EqualFold(host, []byte("localhost")) || loopbackAddress(host)
}

func loopbackAddress(host []byte) bool {
	address, err := netip.ParseAddr(string(host))
	return err == nil && address.IsLoopback()
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}
