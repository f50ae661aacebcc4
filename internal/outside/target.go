package outside

import (
	"bytes"
	"unsafe"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// defaultContainer is the container that paths without a prefix belong to
// (protocol G2).
const defaultContainer = "default"

var (
	containersPath   = []byte("/containers")
	containersPrefix = []byte("/containers/")
	requestsPath     = []byte("/requests")
	schemeMark       = []byte("://")
)

// target is what one path of this listener stands for. container is borrowed
// from the request; nil is the default container.
type target struct {
	container []byte
	list      bool // of the containers (protocol G6); nothing else means anything then
	requests  bool
	kind      codec.Kind
	channel   uint32
}

// parseTarget reads a request target byte for byte: nothing is decoded, no
// slashes are merged, and only a query is ignored (protocol W8, G1 to G3, A2).
// The reason is "" when the target is a path of ours.
func parseTarget(requestTarget []byte) (t target, r Reason) {
	path := rawPath(requestTarget)
	if bytes.Equal(path, containersPath) {
		t.list = true
		return t, ""
	}
	if rest, ok := bytes.CutPrefix(path, containersPrefix); ok {
		end := bytes.IndexByte(rest, '/')
		if end < 0 {
			return target{}, ReasonUnknownPath
		}
		if !mux.ValidID(rest[:end]) {
			return target{}, ReasonBadContainer
		}
		t.container, path = rest[:end], rest[end:]
	}
	if bytes.Equal(path, requestsPath) {
		t.requests = true
		return t, ""
	}
	var ok bool
	if t.kind, t.channel, ok = codec.ParsePath(path); !ok {
		return target{}, ReasonUnknownPath
	}
	return t, ""
}

// rawPath cuts the path out of a request target in origin form or, as RFC 9112
// wants every server to accept it, in absolute form.
func rawPath(requestTarget []byte) []byte {
	path := requestTarget
	if query := bytes.IndexByte(path, '?'); query >= 0 {
		path = path[:query]
	}
	if len(path) > 0 && path[0] != '/' {
		_, rest, ok := bytes.Cut(path, schemeMark)
		if !ok {
			return nil
		}
		slash := bytes.IndexByte(rest, '/')
		if slash < 0 {
			return nil
		}
		path = rest[slash:]
	}
	return path
}

// borrowedID is the container's id for as long as the request is there: a look-up
// on an answer path needs no copy.
func (t *target) borrowedID() string {
	if t.container == nil {
		return defaultContainer
	}
	return unsafe.String(unsafe.SliceData(t.container), len(t.container))
}
