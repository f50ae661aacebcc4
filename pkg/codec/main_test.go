package codec

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func nested(depth int, begin, middle, end string) string {
	b := make([]byte, 0, depth*(len(begin)+len(end))+len(middle))
	for range depth {
		b = append(b, begin...)
	}
	b = append(b, middle...)
	for range depth {
		b = append(b, end...)
	}
	return string(b)
}
