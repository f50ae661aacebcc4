package attack

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

// tried counts the bad inputs: each a connection, a request or a frame that was
// sent to do harm.
var tried atomic.Int64

func TestMain(m *testing.M) {
	if os.Getenv(starved) != "" {
		serveStarved()
		return
	}
	code := m.Run()
	fmt.Printf("attack: %d bad inputs tried\n", tried.Load())
	if code == 0 {
		if err := goleak.Find(goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1")); err != nil {
			fmt.Println(err)
			code = 1
		}
	}
	os.Exit(code)
}
