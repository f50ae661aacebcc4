package inside

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// debug logs what the counters tell in numbers.
func (h *Handler) debug(message string, args ...any) {
	if h.log.Enabled(context.Background(), slog.LevelDebug) {
		h.log.Debug(message, args...)
	}
}

// httpLog brings fasthttp's own lines to the gateway's log: they tell of peers
// that misbehave.
type httpLog struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (l httpLog) Printf(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("http: " + strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}
