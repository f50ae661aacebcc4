package stream

import (
	"bytes"

	"github.com/diverge-network/gateway/pkg/codec"
)

// Message is one publication.
type Message struct {
	// Bytes are ready for the wire. All streams share them, so nobody may change
	// them once they are given; they are held until the last stream let go.
	Bytes []byte
	// Key makes the message mergeable: while one with the same key is queued on a
	// stream, this one adds nothing there. A message with a key is never dropped
	// for room. Empty: never merged.
	Key string
	// Keep says that the message is never dropped for room.
	Keep bool
}

func (m *Message) mayBeLost() bool { return !m.Keep && m.Key == "" }

// KeyOf is the key under which a notification is merged towards MCP clients
// (protocol N7): its method for a list_changed, its method and URI for an
// update of a resource, and empty for every other.
func KeyOf(n codec.Notification) string {
	// The three that exist cost no allocation.
	switch string(n.Method) {
	case "notifications/tools/list_changed":
		return "notifications/tools/list_changed"
	case "notifications/resources/list_changed":
		return "notifications/resources/list_changed"
	case "notifications/prompts/list_changed":
		return "notifications/prompts/list_changed"
	case "notifications/resources/updated":
		uri, ok := n.ResourceURI()
		if !ok {
			return ""
		}
		return "notifications/resources/updated\x00" + string(uri)
	}
	if bytes.HasPrefix(n.Method, []byte("notifications/")) && bytes.HasSuffix(n.Method, []byte("/list_changed")) {
		return string(n.Method)
	}
	return ""
}
