package answer

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if containers := os.Getenv(asGateway); containers != "" {
		beGateway(containers)
		return
	}
	goleak.VerifyTestMain(m)
}
