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

// Identity is who a verified token says its bearer is. The zero Identity may
// nothing.
type Identity struct {
	subject  string
	audience Audience
	expires  int64 // Unix time
}

// Subject is the token's "sub": a container's id, or AllContainers.
func (i Identity) Subject() string { return i.subject }

// Expires is when the token ends, without the Leeway.
func (i Identity) Expires() time.Time { return time.Unix(i.expires, 0) }

// May reports whether the bearer may speak for the container (protocol G2).
func (i Identity) May(container []byte) bool {
	return i.All() || i.subject != "" && i.subject == string(container)
}

// All reports whether the bearer may speak for every container, and so see the
// list of them (protocol G6).
func (i Identity) All() bool { return i.audience == Outside && i.subject == AllContainers }

// Container is the container that a path without a prefix belongs to (protocol
// G2); there is none for the bearer of a token for all.
func (i Identity) Container() (id string, ok bool) {
	if i.subject == AllContainers {
		return "", false
	}
	return i.subject, i.subject != ""
}

// subjectValid reports whether a token for the audience can have that subject.
func subjectValid(subject string, audience Audience) bool {
	return subject == AllContainers && audience == Outside || mux.ValidID([]byte(subject))
}
