package inside

import (
	"encoding/json"

	"github.com/diverge-network/gateway/pkg/codec"
)

// Implementation names a party of MCP.
type Implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type listChanged struct {
	ListChanged bool `json:"listChanged"`
}

// capabilities are what some kind of the protocol carries, and nothing else:
// clients use what is advertised.
type capabilities struct {
	Tools     listChanged `json:"tools"`
	Resources listChanged `json:"resources"`
}

func ourCapabilities() capabilities {
	return capabilities{Tools: listChanged{true}, Resources: listChanged{true}}
}

// initializeResult is our half of the handshake.
type initializeResult struct {
	ProtocolVersion string         `json:"protocolVersion"`
	Capabilities    capabilities   `json:"capabilities"`
	ServerInfo      Implementation `json:"serverInfo"`
}

// initializeResults encodes the result for each revision.
func initializeResults(server Implementation) (encoded [len(revisions)][]byte, err error) {
	result := initializeResult{Capabilities: ourCapabilities(), ServerInfo: server}
	for i := range encoded {
		result.ProtocolVersion = revisions[i]
		if encoded[i], err = json.Marshal(result); err != nil {
			return encoded, err
		}
	}
	return encoded, nil
}

// initialize starts a session. A session the request names is not looked at: a
// client that begins anew may still send the one it lost.
func (h *Handler) initialize(x *exchange, container string, m *codec.Message) {
	requested, ok := requestedRevision(m.Params)
	if !ok {
		h.fail(x, m.ID, codec.Error{Code: codeInvalidParams,
			Message: "Invalid params: initialize needs params.protocolVersion, a string"})
		return
	}
	r, known := parseRevision(requested)
	if !known {
		r = newest
	}
	c, err := h.mux.Enter(container) // begins with its first accepted request (protocol G5)
	if err != nil {
		h.refuseEntry(x, err, m.ID)
		return
	}
	defer c.Exit()
	token, _ := h.faces.mint(container, r)
	x.response.Header.Set(headerSession, token)
	h.result(x, m.ID, h.initialized[r])
}

func requestedRevision(params []byte) (name string, ok bool) {
	if len(params) == 0 {
		return "", false
	}
	raw, err := codec.Member(params, "protocolVersion")
	if err != nil || len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return name, json.Unmarshal(raw, &name) == nil
}
