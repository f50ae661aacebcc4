//go:build linux

package floor

import (
	"net"
	"strings"

	"github.com/valyala/fasthttp"
)

// newFast is a fasthttp server, set as the gateway's are.
func newFast() *fasthttp.Server {
	return &fasthttp.Server{
		Handler:               fastHandler,
		KeepHijackedConns:     true,
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		ReadBufferSize:        8 << 10,
	}
}

func fastHandler(ctx *fasthttp.RequestCtx) {
	switch path := string(ctx.Path()); {
	case path == PostPath:
		ctx.SetContentType("application/json")
		ctx.Response.SetBodyRaw(smallBody)
	case strings.HasPrefix(path, BigPath):
		ctx.SetContentType("application/json")
		ctx.Response.SetBodyRaw(bigBody(sizeBehind(path, BigPath)))
	case path == AnswerPath:
		switching := appendSwitching(make([]byte, 0, 160), ctx.Request.Header.Peek("Sec-Websocket-Key"))
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(c net.Conn) {
			raw := c.(interface{ UnsafeConn() net.Conn }).UnsafeConn()
			if _, err := raw.Write(switching); err == nil {
				takeAnswer(raw, false, reply)
			}
			_ = raw.Close()
		})
	default:
		ctx.SetStatusCode(fasthttp.StatusNotFound)
	}
}
