package upstream

import (
	"encoding/json"

	"github.com/diverge-network/gateway/pkg/codec"
)

var (
	toolsChanged     = []byte(`{"method":"notifications/tools/list_changed"}`)
	resourcesChanged = []byte(`{"method":"notifications/resources/list_changed"}`)
)

const (
	methodProgress = "notifications/progress"
	methodMessage  = "notifications/message"
)

// notified passes on what the server says on its own account: to every container, or progress to the one that asked for it.
func (k *keeper) notified(s *session, method string, params json.RawMessage) {
	var to *seat
	switch {
	case k.tokens == nil:
	case method == methodProgress:
		if to, params = k.tokens.restore(params); to == nil {
			k.counters.strays.Add(1)
			k.log.Debug("dropped progress that no waiting call has asked for")
			return
		}
	case method == methodMessage && s.stateless.Load():
		// It belongs to one call, which has asked for it, and does not say to which.
		k.counters.strays.Add(1)
		k.log.Debug("dropped a log message of one container's call: nothing says which container's")
		return
	}
	notification, err := newNotification(method, params)
	if err != nil {
		k.counters.dropped.Add(1)
		k.log.Warn("dropped a notification of the MCP server", "error", err)
		return
	}
	if to == nil {
		k.feed.publish(notification)
	} else {
		k.feed.tell(to, notification)
	}
}

// newNotification builds a notification from the parts the SDK's transport keeps; params stay as they came. What no path
// would take is an error.
func newNotification(method string, params []byte) ([]byte, error) {
	quoted, err := json.Marshal(method)
	if err != nil {
		return nil, err
	}
	n := make([]byte, 0, len(`{"method":,"params":}`)+len(quoted)+len(params))
	n = append(n, `{"method":`...)
	n = append(n, quoted...)
	if len(params) != 0 {
		n = append(n, `,"params":`...)
		n = append(n, params...)
	}
	n = append(n, '}')
	_, err = codec.ParseNotification(n)
	return n, err
}
