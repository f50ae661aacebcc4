package inside

import (
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

type asking struct {
	era     era
	session sessionID
	kind    codec.Kind
	message codec.Message
	meta    codec.Meta
}

func (f *Face) progress(codec.Notification) { f.faces.observer.Unheard(UnheardProgress) }

func (h *Handler) batch(x *exchange, c *mux.Container, s session, elements [][]byte) {
	out := codec.GetBuffer(0)
	out.B = append(out.B, "[]"...)
	h.reply(x, out, 200)
}
