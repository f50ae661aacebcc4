package auth

import (
	"time"

	"github.com/diverge-network/gateway/pkg/mux"
)

// Audience is the listener that a token is for.
type Audience string

const (
	Inside  Audience = "inside"  // the containers' MCP clients
	Outside Audience = "outside" // the provider's server
)

func (a Audience) valid() bool { return a == Inside || a == Outside }

// AllContainers is the subject of a server that answers every container.
const AllContainers = "*"

// Identity is who a verified token says its bearer is. The zero Identity is
// nobody's, and may nothing. It is as large as a pointer.
type Identity struct{ of *verified }

// None reports whether it is the zero Identity.
func (i Identity) None() bool { return i.of == nil }

// Subject is the token's "sub": a container's id, or AllContainers.
func (i Identity) Subject() string {
	if i.of == nil {
		return ""
	}
	return i.of.subject
}

// Expires is when the token ends, without the Leeway. The zero Identity's has
// ended.
func (i Identity) Expires() time.Time {
	if i.of == nil {
		return time.Time{}
	}
	return time.Unix(i.of.expires, 0)
}

// May reports whether the bearer may speak for the container (protocol G2).
func (i Identity) May(container []byte) bool {
	return i.All() || i.of != nil && i.of.subject == string(container)
}

// All reports whether the bearer may speak for every container, and so see the
// list of them (protocol G6).
func (i Identity) All() bool {
	return i.of != nil && i.of.audience == Outside && i.of.subject == AllContainers
}

// Container is the container that a path without a prefix belongs to (protocol
// G2); there is none for the bearer of a token for all.
func (i Identity) Container() (id string, ok bool) {
	id = i.Subject()
	return id, id != "" && id != AllContainers
}

// subjectValid reports whether a token for the audience can have that subject.
func subjectValid(subject string, audience Audience) bool {
	return subject == AllContainers && audience == Outside || mux.ValidID([]byte(subject))
}
