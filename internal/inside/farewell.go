package inside

import (
	"bufio"
	"io"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/sock"
)

// farewellTime bounds how long a connection that is given up is still read.
const farewellTime = time.Second

// farewell writes ctx's response and then reads what the client is still
// sending, to its end or for a second. Closing at once would make the kernel
// reset the connection, and the client would see that instead of the response.
// fasthttp then writes the response once more, which the closed half refuses.
func (h *Handler) farewell(ctx *fasthttp.RequestCtx) {
	ctx.SetConnectionClose()
	conn := sock.Wrap(ctx.Conn())
	if err := conn.SetDeadline(time.Now().Add(farewellTime)); err != nil {
		return
	}
	w := bufio.NewWriter(conn)
	if err := ctx.Response.Write(w); err != nil {
		return
	}
	if err := w.Flush(); err != nil {
		return
	}
	if err := conn.CloseWrite(); err != nil {
		return
	}
	// Ends with the peer's end or the deadline; there is nothing to do about either.
	_, _ = io.Copy(io.Discard, conn.Conn)
}
