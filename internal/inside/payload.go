package inside

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diverge-network/gateway/pkg/codec"
)

// FarSides are the revisions that Config.FarSide may name.
func FarSides() []string { return append(slices.Clone(revisions[:]), modernRevision) }

func checkFarSide(revision string) error {
	if revision == "" || slices.Contains(FarSides(), revision) {
		return nil
	}
	return fmt.Errorf("inside: Config.FarSide is %q: there are %s", revision, strings.Join(FarSides(), ", "))
}

// statelessMeta is what a far side of the stateless revision has to find in the
// _meta of every request, and no legacy client says: that it is one, and that
// nothing may be asked of the client.
var statelessMeta = []byte(`"` + codec.MetaProtocolVersion + `":"` + modernRevision + `","` + codec.MetaClientCapabilities + `":{}`)

// payload is what the provider's server is asked with: the params (protocol R4),
// with the token that the call has on the wire, where it has one, and with a
// _meta as the far side knows it. It is a view of the params where nothing has to
// be changed, and of the buffer otherwise.
func (h *Handler) payload(a *asking, token []byte) (payload []byte, buffer *codec.Buffer, err error) {
	params, err := a.kind.Payload(a.message.Params)
	if err != nil {
		return nil, nil, err
	}
	edit := codec.MetaEdit{ProgressToken: token}
	switch {
	case h.cfg.FarSide != modernRevision:
		// A server of both eras takes who sends one of these for stateless.
		edit.DropModern = isStateless(&a.meta)
	case a.era == legacy: // which cannot do what it may say of itself there
		edit.DropModern, edit.Add = isStateless(&a.meta), statelessMeta
	}
	if token == nil && !edit.DropModern && edit.Add == nil {
		return params, nil, nil
	}
	const around = len(`,"_meta":{,}`)
	buffer = codec.GetBuffer(len(params) + len(token) + len(edit.Add) + around)
	if buffer.B, err = codec.AppendParams(buffer.B, params, a.message.Meta, edit); err != nil {
		buffer.Release()
		return nil, nil, err
	}
	return buffer.B, buffer, nil
}

// isStateless reports whether a _meta has a member of the stateless revision.
func isStateless(m *codec.Meta) bool {
	return m.ProtocolVersion != nil || m.ClientInfo != nil || m.ClientCapabilities != nil || m.LogLevel != nil
}
