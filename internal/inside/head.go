package inside

import (
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/httphead"
)

// maxHeader is the most bytes that a request's head may have.
const maxHeader = httphead.Max

// What fasthttp says of a request's length where it has none.
const (
	chunked = httphead.Chunked
	noBody  = httphead.NoBody
)

// readHead reads a request's head.
func (c *connection) readHead(header *fasthttp.RequestHeader) (refused Reason, cause string) {
	switch err := httphead.Read(c.takeReader(time.Now().Add(c.handler.pace.head), 0), header); {
	case err == nil:
		return "", ""
	case errors.Is(err, httphead.ErrTooBig):
		return ReasonHeaderTooBig, ""
	default:
		return c.broken(httphead.Cause(err))
	}
}
