package upstream

import (
	"bytes"

	"github.com/diverge-network/gateway/pkg/codec"
)

const codeInvalidParams = -32602

// asked is what a container asks with: a request's params, borrowed, and how they change on their way to the server.
type asked struct {
	params []byte // nil: none
	meta   []byte // their _meta, a view; nil: none
	given  []byte // the progress token in it, a view; nil: none
	token  []byte // ours, which replaces that; nil: it stays
}

// newAsked reads the params of an ask. null, the ask's word for "none" (protocol R4), is left out of JSON-RPC.
func newAsked(params []byte) (asked, error) {
	if bytes.Equal(params, []byte("null")) {
		return asked{}, nil
	}
	a := asked{params: params}
	meta, err := codec.Member(params, "_meta")
	if err != nil {
		return asked{}, invalid(err)
	}
	a.meta = meta
	if len(meta) == 0 || meta[0] != '{' {
		return a, nil // the server will say what it thinks of that
	}
	known, err := codec.ParseMeta(meta)
	if err != nil {
		return asked{}, invalid(err)
	}
	if codec.IsProgressToken(known.ProgressToken) {
		a.given = known.ProgressToken
	}
	return a, nil
}

// outgoing is the params for a server of the session's era. One with sessions must not see how a stateless request declares
// itself: many a server would take it for one. A stateless one must see it, from the asking client as far as that has said
// it, and else from us.
func (s *session) outgoing(a asked) ([]byte, error) {
	edit := codec.MetaEdit{ProgressToken: a.token, DropModern: true}
	if s.stateless.Load() {
		edit.DropModern, edit.Add = false, s.declared
	} else if a.meta == nil {
		return a.params, nil
	}
	params, err := codec.AppendParams(nil, a.params, a.meta, edit)
	if err != nil {
		return nil, invalid(err)
	}
	return params, nil
}

func invalid(err error) error {
	return &codec.Error{Code: codeInvalidParams, Message: err.Error()}
}
