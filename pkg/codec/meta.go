package codec

// The names that the stateless revision gives members of _meta: of a request's
// params, of a result (MetaServerInfo), of a notification's params
// (MetaSubscriptionID).
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	MetaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"
)

// Meta is what the gateway reads in the _meta of a request's params: raw
// views, of any type, nil where absent.
type Meta struct {
	ProgressToken      []byte // for IsProgressToken
	ProtocolVersion    []byte
	ClientInfo         []byte
	ClientCapabilities []byte
	LogLevel           []byte
}

// ParseMeta reads a _meta, as Message has it; a nil one, for none, makes a
// zero Meta. It fails if raw is no object, or has a member twice that Meta
// names.
func ParseMeta(raw []byte) (Meta, error) {
	if raw == nil {
		return Meta{}, nil
	}
	s, err := scan(raw)
	if err != nil {
		return Meta{}, err
	}
	defer s.release()
	if err := s.object("_meta"); err != nil {
		return Meta{}, err
	}
	var m Meta
	for s.next() {
		if member := m.member(s.name); member != nil {
			s.take(member)
		}
	}
	if err := s.finish("_meta"); err != nil {
		return Meta{}, err
	}
	return m, nil
}

func (m *Meta) member(name []byte) *[]byte {
	switch string(name) {
	case "progressToken":
		return &m.ProgressToken
	case MetaProtocolVersion:
		return &m.ProtocolVersion
	case MetaClientInfo:
		return &m.ClientInfo
	case MetaClientCapabilities:
		return &m.ClientCapabilities
	case MetaLogLevel:
		return &m.LogLevel
	}
	return nil
}

// IsProgressToken reports whether a raw value can be a progress token: a
// string or a number.
func IsProgressToken(value []byte) bool {
	return len(value) > 0 && (isString(value) || value[0] == '-' || '0' <= value[0] && value[0] <= '9')
}
