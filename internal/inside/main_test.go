package inside

import (
	"testing"

	"github.com/valyala/fasthttp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// fasthttp keeps the Date header's text up to date for the life of the process,
	// and must not begin to in a test's bubble.
	_ = new(fasthttp.ResponseHeader).Header()
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))
}
