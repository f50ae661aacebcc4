//go:build linux

package suite

import (
	"os"
	"testing"

	"github.com/diverge-network/gateway/bench/child"
)

func TestMain(m *testing.M) {
	child.Main()
	os.Exit(m.Run())
}
