package inside

import (
	"encoding/json"
)

// modernResults are the results that the gateway itself gives to modern clients,
// encoded once.
type modernResults struct {
	discovered []byte // of server/discover
	templates  []byte // of resources/templates/list
	serverInfo []byte // of every result's _meta
}

// resultMeta is the _meta of a modern result.
type resultMeta struct {
	ServerInfo Implementation `json:"io.modelcontextprotocol/serverInfo"`
}

// caching says that a result is for who asked only, and old at once: it is the
// far side that knows better.
type caching struct {
	TTL   int    `json:"ttlMs"`
	Scope string `json:"cacheScope"`
}

// discoverResult is what a modern client learns instead of a handshake. Later
// revisions keep to it, so that any client can find out what it may speak.
type discoverResult struct {
	ResultType        string       `json:"resultType"`
	SupportedVersions []string     `json:"supportedVersions"`
	Capabilities      capabilities `json:"capabilities"`
	caching
	Meta resultMeta `json:"_meta"`
}

type templatesResult struct {
	ResultType        string     `json:"resultType"`
	ResourceTemplates []struct{} `json:"resourceTemplates"`
	caching
	Meta resultMeta `json:"_meta"`
}

func newModernResults(server Implementation) (encoded modernResults, err error) {
	private, meta := caching{Scope: "private"}, resultMeta{ServerInfo: server}
	for _, e := range []struct {
		into  *[]byte
		value any
	}{
		{&encoded.discovered, discoverResult{resultComplete, supportedRevisions(), ourCapabilities(), private, meta}},
		{&encoded.templates, templatesResult{resultComplete, []struct{}{}, private, meta}},
		{&encoded.serverInfo, server},
	} {
		if *e.into, err = json.Marshal(e.value); err != nil {
			return modernResults{}, err
		}
	}
	return encoded, nil
}

const resultComplete = "complete"
