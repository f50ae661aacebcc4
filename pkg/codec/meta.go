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
	s := scan(raw)
	if err := s.object("_meta"); err != nil {
		return Meta{}, err
	}
	var m Meta
	for s.next() {
		if i := metaIndex(s.name); i >= 0 {
			s.take(m.member(i))
		}
	}
	if err := s.finish("_meta"); err != nil {
		return Meta{}, err
	}
	return m, nil
}

// The members of Meta, as indexes. All but the first make a request modern.
const (
	metaProgressToken = iota
	metaProtocolVersion
	metaClientInfo
	metaClientCapabilities
	metaLogLevel
)

// metaIndex returns -1 for a name that Meta has not.
func metaIndex(name []byte) int {
	switch string(name) {
	case "progressToken":
		return metaProgressToken
	case MetaProtocolVersion:
		return metaProtocolVersion
	case MetaClientInfo:
		return metaClientInfo
	case MetaClientCapabilities:
		return metaClientCapabilities
	case MetaLogLevel:
		return metaLogLevel
	}
	return -1
}

func (m *Meta) member(index int) *[]byte {
	switch index {
	case metaProgressToken:
		return &m.ProgressToken
	case metaProtocolVersion:
		return &m.ProtocolVersion
	case metaClientInfo:
		return &m.ClientInfo
	case metaClientCapabilities:
		return &m.ClientCapabilities
	}
	return &m.LogLevel
}

// IsProgressToken reports whether a raw value can be a progress token: a
// string or a number.
func IsProgressToken(value []byte) bool {
	return len(value) > 0 && (isString(value) || value[0] == '-' || '0' <= value[0] && value[0] <= '9')
}
