package inside

import (
	"bytes"
	"net/netip"
	"strings"
)

// origins decides which web pages may talk to the listener. A request without
// an Origin does not come from a page, and is not judged by it.
type origins struct {
	allowed  map[string]struct{} // in lower case
	loopback bool
}

func newOrigins(allowed []string, loopback bool) origins {
	o := origins{allowed: make(map[string]struct{}, len(allowed)), loopback: loopback}
	for _, name := range allowed {
		o.allowed[strings.ToLower(strings.TrimSuffix(name, "/"))] = struct{}{}
	}
	return o
}

func (o origins) allow(origin []byte) bool {
	if len(o.allowed) > 0 {
		if _, listed := o.allowed[string(bytes.ToLower(origin))]; listed {
			return true
		}
	}
	return o.loopback && loopbackOrigin(origin)
}

// loopbackOrigin reports whether an origin is a page of this machine: http or
// https, a loopback host, any port.
func loopbackOrigin(origin []byte) bool {
	scheme, host, ok := bytes.Cut(origin, []byte("://"))
	if !ok || !(equalFold(scheme, "http") || equalFold(scheme, "https")) {
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
	return equalFold(host, "localhost") || loopbackAddress(host)
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
