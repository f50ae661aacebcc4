package outside

import (
	"context"
	"fmt"
	"log/slog"
)

// httpLog brings fasthttp's own log lines to the gateway's log at debug level:
// they tell of peers that misbehave, and the counters tell how often.
type httpLog struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (l httpLog) Printf(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("http: " + oneLine(fmt.Sprintf(format, args...)))
	}
}
