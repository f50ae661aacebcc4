package inside

import (
	"bytes"

	"github.com/diverge-network/gateway/pkg/mux"
)

// defaultContainer is whose the unprefixed path is (protocol G2).
const defaultContainer = "default"

const (
	containersPrefix = "/containers/"
	endpointPath     = "/mcp"
)

// endpoint tells from a request target which container it addresses. The raw
// path counts: nothing is decoded, no slashes are merged; a query is ignored
// (protocol W8). One trailing slash is tolerated. The id is borrowed from
// target; it is nil for the unprefixed path.
func endpoint(target []byte) (id []byte, refused Reason) {
	path := rawPath(target)
	path = bytes.TrimSuffix(path, []byte("/"))
	if string(path) == endpointPath {
		return nil, ""
	}
	rest, ok := bytes.CutPrefix(path, []byte(containersPrefix))
	if !ok {
		return nil, ReasonUnknownPath
	}
	id, ok = bytes.CutSuffix(rest, []byte(endpointPath))
	if !ok || bytes.IndexByte(id, '/') >= 0 {
		return nil, ReasonUnknownPath
	}
	if !mux.ValidID(id) {
		return nil, ReasonBadContainer
	}
	return id, ""
}

// rawPath cuts the path out of a request target in origin form ("/mcp?x") or,
// as proxies send it, in absolute form ("http://host/mcp").
func rawPath(target []byte) []byte {
	if i := bytes.IndexByte(target, '?'); i >= 0 {
		target = target[:i]
	}
	if len(target) == 0 || target[0] == '/' {
		return target
	}
	_, rest, ok := bytes.Cut(target, []byte("://"))
	if !ok {
		return nil
	}
	slash := bytes.IndexByte(rest, '/')
	if slash < 0 {
		return nil
	}
	return rest[slash:]
}

// containerName is the id as the string that package mux knows the container by.
func containerName(id []byte) string {
	if id == nil {
		return defaultContainer
	}
	return string(id)
}
