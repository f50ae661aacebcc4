package upstream

import "github.com/diverge-network/gateway/pkg/answer"

// Upstream is the answer.Handler of one container, backed by one MCP session of one server. The session begins with the
// first ask, not with New: a container that is served but not used costs no process and no connection. From then on it is
// kept: when it is lost it is begun again in the background, and each new session is followed by both list_changed
// notifications. A server of the stateless revision knows of no session; to it the same holds.
//
// All methods are safe for concurrent use.
type Upstream struct {
	*keeper
	*seat
}

var _ answer.Handler = (*Upstream)(nil)

const contactedLater = "the MCP server will be contacted with the first ask"

// New checks the Config and starts nothing. Close ends what the asks will have started.
func New(cfg Config) (*Upstream, error) {
	k, err := newKeeper(cfg)
	if err != nil {
		return nil, err
	}
	k.log.Debug(contactedLater) // one of thousands, perhaps
	return &Upstream{keeper: k, seat: &seat{keeper: k}}, nil
}

// Shared is one MCP session of one server behind many containers. It begins and is kept as an Upstream's is.
//
// The containers do not notice each other. Each call is answered to its own caller, and only its own caller can cancel it.
// A progress token travels to the server as one of ours, since those of two containers may be equal; progress comes back
// with the token that was given, byte for byte, and only to the container that gave it (protocol N7). Progress that no
// waiting call has asked for is dropped. Every other notification reaches every container whose path is open, in order and
// unmerged; a path that does not keep up loses its oldest ones, and holds up only its own container's answers, each for at
// most a second.
//
// What the server itself keeps by session it keeps for all of them together, such as a log level or subscriptions. A
// stateless server keeps nothing; of its log messages, which belong to one call, nothing says whose they are: they are
// dropped.
//
// All methods are safe for concurrent use.
type Shared struct {
	*keeper
}

// NewShared checks the Config and starts nothing. Close ends what the asks will have started.
func NewShared(cfg Config) (*Shared, error) {
	cfg.idle = idleShared
	k, err := newKeeper(cfg)
	if err != nil {
		return nil, err
	}
	k.tokens = &tokens{waiting: make(map[uint64]token)}
	k.log.Info(contactedLater)
	return &Shared{k}, nil
}

// For is the Handler of one container, whose name is for the log. It costs a few words and holds nothing: it is dropped, not
// closed, when its container goes. Two Handlers of one name are two containers.
func (s *Shared) For(container string) answer.Handler {
	return &seat{keeper: s.keeper, container: container}
}
