package answer

import (
	"context"
	"errors"
	"net/http"

	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/answer/internal/backoff"
	"github.com/diverge-network/gateway/pkg/codec"
)

// errPathEnded is the cause of a handler call's context when its path ended under it.
var errPathEnded = errors.New("the answer path ended")

// path is an open answer path.
type path struct {
	run  *run
	sock socket

	alive context.Context // ends with the path, and with the run
	end   context.CancelCauseFunc

	ending wsock.Ending // written before ended is closed
	ended  chan struct{}
}

// openPath opens an ask's path, again and again while the connection that announced it lives: an ask whose path is
// never opened would leave its caller waiting. nil: the gateway refused it, or lost it with its connection.
func (r *run) openPath(announced context.Context, ask codec.Ask) (*path, Outcome) {
	url := string(codec.AppendPath([]byte(r.base), ask.Kind, ask.Channel))
	retry := backoff.Backoff{Cap: lineWait, Jitter: r.jitter}
	for first := true; ; first = false {
		sock, err := r.openAnswer(announced, ask.Kind, url)
		if err == nil {
			p := &path{run: r, sock: sock, ended: make(chan struct{})}
			p.alive, p.end = context.WithCancelCause(r.serving)
			r.counters.open.Add(1)
			sock.Serve(p)
			return p, Answered
		}
		var refused *wsock.RefusedError
		if errors.As(err, &refused) && (refused.Status == http.StatusNotFound || refused.Status == http.StatusConflict) {
			r.log.Debug("the gateway refused an answer path", "path", url, "status", refused.Status, "reason", refused.Reason)
			return nil, Refused
		}
		wait, text := r.afterwards(err, retry.Next(), "cannot open an answer path; trying again")
		r.counters.pathFailures.Add(1)
		r.log.Log(announced, r.alarm(first), text, "path", url, "wait", wait, "error", err)
		if !backoff.Wait(announced, wait) {
			return nil, Lost
		}
	}
}

// maxHandshakes bounds how many of a container's calls have their paths opened at once: a gateway that announces more than
// it upgrades must not cost a descriptor for each.
const maxHandshakes = 256

// openAnswer makes one attempt. A path that every container has waits its turn in the fleet; a call's does not, for
// somebody waits for it.
func (r *run) openAnswer(announced context.Context, k codec.Kind, url string) (socket, error) {
	cfg := r.notifies
	if !k.Many() {
		cfg = r.socket
		select {
		case r.handshakes <- struct{}{}:
			defer func() { <-r.handshakes }()
		case <-announced.Done():
			return nil, announced.Err()
		}
	}
	if r.admission != nil && k.Many() {
		if !r.admission.admitPath(announced) {
			return nil, announced.Err()
		}
		defer r.admission.handshaken()
	}
	return r.open(r.serving, url, cfg)
}

// Message implements wsock.Handler: the gateway sends nothing on an answer path (protocol A9).
func (p *path) Message(b *codec.Buffer) *wsock.Violation {
	b.Release()
	p.run.counters.unexpected.Add(1)
	return nil
}

// Ended implements wsock.Handler.
func (p *path) Ended(e wsock.Ending) {
	p.ending = e
	p.run.suspect(e)
	p.run.counters.open.Add(-1)
	p.end(errPathEnded)
	close(p.ended)
}

// over reports whether the path has ended.
func (p *path) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// send queues one message: the tag and the JSON after it.
func (p *path) send(tag codec.Tag, body []byte) {
	p.sock.Append([]byte{byte(tag)}, body)
	p.sock.Flush()
}

// close ends the path cleanly, behind what was sent, and reports whether the gateway confirmed it.
func (p *path) close() bool {
	finish(p.sock, p.ended)
	return p.ending.Clean
}

// cut ends the path without a Close, which would state that the ask is not served (protocol A6).
func (p *path) cut() { cut(p.sock, p.ended) }
