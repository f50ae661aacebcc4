package inside

import (
	"bytes"
	"errors"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/pkg/codec"
)

// topics are the notifications that a modern client may subscribe to, as a set.
type topics uint8

// topicTable is all there is. Nothing asks the far side for prompts, or to watch
// one resource, so that a subscription to those is not honoured.
var topicTable = [...]struct {
	topic  topics
	asked  string // the member of params.notifications that asks for it
	method string
}{
	{1 << 0, "toolsListChanged", "notifications/tools/list_changed"},
	{1 << 1, "resourcesListChanged", "notifications/resources/list_changed"},
}

// topicOf is the topic that a notification belongs to, 0 if none.
func topicOf(n codec.Notification) topics {
	for i := range topicTable {
		if string(n.Method) == topicTable[i].method {
			return topicTable[i].topic
		}
	}
	return 0
}

// subscription is what a subscriptions/listen opens: a stream of the
// notifications that it asked for and we have.
type subscription struct {
	id     []byte // of the request, raw JSON: it goes into every message with its type intact
	topics topics
}

var errNoNotifications = errors.New("subscriptions/listen needs params.notifications, an object")

// parseSubscription reads a subscriptions/listen. What it returns has bytes of its own.
func parseSubscription(m *codec.Message) (*subscription, error) {
	if len(m.Params) == 0 || m.Params[0] != '{' {
		return nil, errNoNotifications
	}
	asked, err := codec.Member(m.Params, "notifications")
	if err != nil {
		return nil, err
	}
	if len(asked) == 0 || asked[0] != '{' {
		return nil, errNoNotifications
	}
	s := &subscription{id: bytes.Clone(m.ID)}
	for i := range topicTable {
		t := &topicTable[i]
		wanted, err := codec.Member(asked, t.asked)
		if err != nil {
			return nil, err
		}
		switch string(wanted) {
		case "true":
			s.topics |= t.topic
		case "", "false", "null":
		default:
			return nil, errors.New("params.notifications." + t.asked + " must be true or false")
		}
	}
	return s, nil
}

// appendMeta appends the member of a _meta that says whose a message is.
func (s *subscription) appendMeta(dst []byte) []byte {
	dst = append(dst, `"_meta":{"`+codec.MetaSubscriptionID+`":`...)
	return append(dst, s.id...)
}

// acknowledgement is the subscription's first event: what of it is honoured.
func (s *subscription) acknowledgement() []byte {
	message := s.appendMeta([]byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{`))
	message = append(message, `},"notifications":{`...)
	comma := ""
	for i := range topicTable {
		if t := &topicTable[i]; s.topics&t.topic != 0 {
			message = append(message, comma+`"`+t.asked+`":true`...)
			comma = ","
		}
	}
	return eventOf(append(message, "}}}"...))
}

// end is the subscription's last event: the response to its request.
func (s *subscription) end(serverInfo []byte) []byte {
	result := s.appendMeta([]byte(`{"resultType":"` + resultComplete + `",`))
	result = append(append(result, `,"`+codec.MetaServerInfo+`":`...), serverInfo...)
	return eventOf(codec.AppendResponse(nil, s.id, append(result, "}}"...)))
}

// notification is n as an event of the subscription; nil if it has a _meta that
// cannot hold the subscription's id.
func (s *subscription) notification(n codec.Notification) []byte {
	message := codec.GetBuffer(len(n.Raw) + len(s.id) + 2*envelope)
	defer message.Release()
	var err error
	if message.B, err = codec.AppendSubscribed(message.B, n, s.id); err != nil {
		return nil
	}
	return eventOf(message.B)
}

// subscribe serves a subscriptions/listen: the connection becomes a stream of
// notifications, until the client leaves or the gateway stops. One of which
// nothing is honoured is over at once.
func (h *Handler) subscribe(x *exchange, container string, m *codec.Message) {
	s, err := parseSubscription(m)
	if err != nil {
		h.reply(x, failure(m.ID, codeInvalidParams, "Invalid params: "+err.Error()), fasthttp.StatusOK)
		return
	}
	c, err := h.mux.Enter(container)
	if err != nil {
		h.refuseEntry(x, err, m.ID)
		return
	}
	if s.topics != 0 {
		x.listens = &listening{container: c, subscription: s, identity: x.identity, sharing: h.appendSharing(nil, &x.request.Header)}
		return
	}
	defer c.Exit()
	out := codec.GetBuffer(0)
	out.B = append(append(out.B, s.acknowledgement()...), s.end(h.ours.serverInfo)...)
	x.response.Header.Set(fasthttp.HeaderCacheControl, "no-cache, no-transform")
	x.response.Header.Set("X-Accel-Buffering", "no")
	x.answer(mediaStream, out)
}
