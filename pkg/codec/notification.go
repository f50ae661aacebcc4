package codec

// Notification is a decoded notification. Its views are borrowed, except that
// a method spelled with escapes has bytes of its own.
type Notification struct {
	Raw       []byte // the whole object, byte for byte, without space around it
	Method    []byte // unescaped
	Params    []byte // the raw object; nil if there is none
	Versioned bool   // Raw has a jsonrpc member of its own
}

// DecodeNotification decodes a message of a notifications path: a notification
// behind TagResult, or the error that is the path's last message behind
// TagError (protocol N3). It fails as DecodeAnswer does. last is true for
// every message with TagError, also one whose JSON fails (protocol N6); then n
// is empty, and frame[1:] is for ParseError.
func DecodeNotification(frame []byte) (n Notification, last bool, err error) {
	if len(frame) == 0 {
		return Notification{}, false, ErrEmpty
	}
	switch tag := Tag(frame[0]); tag {
	case TagResult:
		n, err = ParseNotification(frame[1:])
	case TagError:
		last = true
		_, err = scanError(frame[1:])
	default:
		return Notification{}, false, &UnknownTagError{tag}
	}
	if err != nil {
		return Notification{}, last, &BodyError{err}
	}
	return n, last, nil
}

// ParseNotification parses a notification: an object with a string method, no
// id and, where present, object params. A jsonrpc member must be "2.0". It is
// an envelope, so no two of its members may have the same name, and nor may
// those members of its params that the gateway reads (protocol D2).
func ParseNotification(raw []byte) (Notification, error) {
	s := scan(raw)
	if err := s.object("notification"); err != nil {
		return Notification{}, err
	}
	var e envelope
	if err := e.read(&s); err != nil {
		return Notification{}, err
	}
	n := Notification{Raw: trimSpace(raw), Params: e.params, Versioned: e.jsonrpc != nil}
	switch {
	case e.twice != nil:
		return Notification{}, duplicate("notification", string(e.twice))
	case e.twiceInParams != "":
		return Notification{}, duplicate("params", e.twiceInParams)
	case e.id != nil:
		return Notification{}, shapeError("notification must not have an id")
	case e.method == nil:
		return Notification{}, shapeError("notification has no method")
	case !isString(e.method):
		return Notification{}, shapeError("method must be a string")
	case e.params != nil && !isObject(e.params):
		return Notification{}, shapeError("params must be an object")
	case n.Versioned && !isVersion(e.jsonrpc):
		return Notification{}, errVersion
	}
	n.Method = unquote(e.method)
	return n, nil
}

const errVersion = shapeError(`jsonrpc must be "2.0"`)

// ResourceURI returns the uri of n's params, unescaped, where they have one.
// It is the resource of a notifications/resources/updated.
func (n Notification) ResourceURI() (uri []byte, ok bool) {
	if n.Params == nil {
		return nil, false
	}
	v, err := Member(n.Params, "uri")
	if err != nil || v == nil || !isString(v) {
		return nil, false
	}
	return unquote(v), true
}
