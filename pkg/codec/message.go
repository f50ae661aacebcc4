package codec

// Form says which of JSON-RPC's three messages one is.
type Form uint8

// The forms there are.
const (
	FormRequest Form = iota
	FormNotification
	FormResponse
)

// Message is a parsed JSON-RPC message. Its members are raw JSON, borrowed,
// byte for byte; nil where the message has none. Only Method is unescaped,
// and has bytes of its own where it is spelled with escapes.
type Message struct {
	Form   Form
	ID     []byte // a string, or an integer however large
	Method []byte
	Params []byte // an object, an array or null
	Result []byte
	Error  []byte // an object

	// Members of Params, where that is an object; of any type.
	Meta []byte // _meta, for ParseMeta
	Name []byte
	URI  []byte
}

// ParseMessage parses one JSON-RPC 2.0 message. It fails with a *SyntaxError
// if b is not JSON (protocol D2), else with an *InvalidError.
//
// An id is a string, also an empty one, or a number written without a fraction
// or an exponent; a response that is an error may be without. No two members
// may have the same name, however spelled, and nor may those members of the
// params that the gateway reads. A message with both a method and a result or
// an error is invalid, as is a batch.
func ParseMessage(b []byte) (Message, error) {
	s := scan(b)
	batch := s.peek() == '['
	if err := s.object("message"); err != nil {
		if _, ok := err.(shapeError); !ok {
			return Message{}, err
		}
		if batch {
			return Message{}, &InvalidError{Reason: "it is a batch; send its messages one by one", Batch: true}
		}
		return Message{}, &InvalidError{Reason: err.Error()}
	}
	var e envelope
	if err := e.read(&s); err != nil {
		return Message{}, err
	}
	if reason := e.invalid(); reason != "" {
		failure := &InvalidError{Reason: reason}
		if e.id != nil && isID(e.id) && !e.idTwice {
			failure.ID = e.id
		}
		return Message{}, failure
	}
	m := Message{ID: e.id}
	switch {
	case e.method == nil:
		m.Form, m.Result, m.Error = FormResponse, e.result, e.err
		return m, nil
	case e.id == nil:
		m.Form = FormNotification
	}
	m.Method, m.Params = unquote(e.method), e.params
	m.Meta, m.Name, m.URI = e.meta, e.name, e.uri
	return m, nil
}

// invalid returns the reason why e is no message, or "".
func (e *envelope) invalid() string {
	switch {
	case e.twice != nil:
		return duplicate("message", string(e.twice)).Error()
	case e.id != nil && !isID(e.id):
		return "id must be a string or an integer"
	case e.jsonrpc == nil:
		return `jsonrpc is missing, it must be "2.0"`
	case !isVersion(e.jsonrpc):
		return errVersion.Error()
	case e.method == nil:
		return e.invalidResponse()
	case !isString(e.method):
		return "method must be a string"
	case e.result != nil || e.err != nil:
		return "it has a method and a result or an error"
	case e.params != nil && !isObject(e.params) && !isArray(e.params) && !isNull(e.params):
		return "params must be an object"
	case e.twiceInParams != "":
		return duplicate("params", e.twiceInParams).Error()
	}
	return ""
}

func (e *envelope) invalidResponse() string {
	switch {
	case e.result == nil && e.err == nil:
		return "it has no method, no result and no error"
	case e.result != nil && e.err != nil:
		return "it has both a result and an error"
	case e.result != nil && e.id == nil:
		return "a result must have an id"
	case e.err != nil && !isObject(e.err):
		return "error must be an object"
	}
	return ""
}

func isID(value []byte) bool { return isString(value) || isInteger(value) }

func isVersion(value []byte) bool {
	return isString(value) && string(unquote(value)) == "2.0"
}
