package inside

import (
	"errors"
	"time"

	"github.com/diverge-network/gateway/pkg/mux"
	"github.com/diverge-network/gateway/pkg/stream"
)

// FacesConfig is what all containers' Faces share.
type FacesConfig struct {
	// Stream is the policy of the event streams. Required.
	Stream *stream.Config
	// SessionKey signs session ids: at least 32 random bytes. Replicas with the
	// same key honour each other's sessions, and a restart its own.
	SessionKey []byte
	// SessionTTL is after how long of no use a session ends. Required.
	SessionTTL time.Duration
	// MaxStreams is how many event streams one container may have: those of GET, of
	// subscriptions/listen, and responses that became one. 0: any number.
	MaxStreams int
	// Observer may be nil.
	Observer Observer
	// Now is the clock of the sessions; nil is time.Now.
	Now func() time.Time
}

// Faces makes and serves the Faces of all containers. Its methods may be called
// from many goroutines.
type Faces struct {
	stream   *stream.Config
	signer   *signer
	lifetime lifetime
	observer Observer

	maxStreams int

	now     func() time.Time
	archive archive
}

// NewFaces checks the config. The process counts as begun now: sessions issued
// earlier were last used now, for all it knows.
func NewFaces(config FacesConfig) (*Faces, error) {
	if config.Stream == nil {
		return nil, errors.New("inside: FacesConfig.Stream is missing")
	}
	if config.SessionTTL <= 0 {
		return nil, errors.New("inside: the session TTL must be positive")
	}
	signer, err := newSigner(config.SessionKey)
	if err != nil {
		return nil, err
	}
	f := &Faces{stream: config.Stream, signer: signer, observer: config.Observer, maxStreams: config.MaxStreams, now: config.Now}
	if f.observer == nil {
		f.observer = silent{}
	}
	if f.now == nil {
		f.now = time.Now
	}
	f.lifetime = lifetime{ttl: config.SessionTTL, began: f.now().UnixNano()}
	return f, nil
}

// stall is for how long a client may take nothing of an event stream.
func (f *Faces) stall() time.Duration {
	if f.stream.Stall == 0 {
		return stream.DefaultStall
	}
	return f.stream.Stall
}

// New makes the Face of one container; it is a mux.Config.NewSink.
func (f *Faces) New(string) mux.Sink {
	return &Face{faces: f, hub: stream.NewHub(f.stream)}
}

// mint starts a session of a container.
func (f *Faces) mint(container string, r revision) (token string, s session) {
	return f.signer.mint(container, r, f.now())
}

// verify reads a session token of a container; it does not say whether the
// session is still good.
func (f *Faces) verify(container string, token []byte) (session, bool) {
	return f.signer.verify(container, token)
}

// live reports whether a session that no Face knows has neither ended nor
// expired.
func (f *Faces) live(s session) bool {
	return f.archive.live(s, f.lifetime, f.now().UnixNano())
}
