package answer

import (
	"testing"

	"github.com/diverge-network/gateway/internal/wsock"
)

func TestW3_NoSocketHearsText(t *testing.T) {
	for _, h := range []wsock.Handler{&line{}, &path{}} {
		if _, hears := h.(wsock.TextHandler); hears {
			t.Errorf("%T hears text, which is to be ignored", h)
		}
	}
}
