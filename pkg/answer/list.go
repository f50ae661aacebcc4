package answer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/diverge-network/gateway/pkg/answer/internal/backoff"
)

const (
	// listWait is the longest wait before the list is asked for again. It is short because it is for one connection of
	// the whole fleet, which all others follow.
	listWait = time.Second
	// longestLine bounds a line of the list, in bytes; what is known needs far less.
	longestLine = 64 << 10
	// longestReason bounds what is read of a refusal's body.
	longestReason = 1 << 10
	// listSilence is after how long a list that says nothing is given up: the gateway says something every 30 s.
	listSilence = 75 * time.Second
)

var (
	errListTimeout = errors.New("the gateway did not answer in time")
	errListEnded   = errors.New("the gateway ended the list")
	errListSilent  = errors.New("the gateway was silent for too long")
)

// follow follows the list of containers until ctx ends, from its beginning whenever it has broken off.
func (f *fleet) follow() {
	retry := backoff.Backoff{Cap: listWait, Jitter: f.server.jitter}
	failing := false
	for f.ctx.Err() == nil {
		began := time.Now()
		err := f.followOnce()
		completed := f.counters.following.Load()
		f.forgetAll()
		if f.ctx.Err() != nil {
			return
		}
		f.counters.listFailures.Add(1)
		if time.Since(began) >= settled {
			retry.Reset()
		}
		wait, text := f.server.afterwards(err, retry.Next(), "cannot follow the gateway's list of containers; trying again")
		level := slog.LevelDebug
		if completed || !failing {
			level = slog.LevelWarn
		}
		failing = !completed
		f.log.Log(f.ctx, level, text, "wait", wait, "error", err)
		backoff.Wait(f.ctx, wait)
	}
}

// listLine is one line of the list, which has one of these members; any other means nothing to us.
type listLine struct {
	Came     *string `json:"came"`
	Complete *int    `json:"complete"`
	Went     *string `json:"went"`
}

// list is one following of the list. Guarded by fleet.mu.
type list struct {
	began  time.Time
	giveUp context.CancelCauseFunc // nil: none is followed
}

// suspectList gives the list up because the gateway was silent on a socket: there is nothing that a list answers, and the
// path to the gateway is most likely the same. A list that began while a ping was waited for is not meant.
func (f *fleet) suspectList() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.list.giveUp != nil && time.Since(f.list.began) >= pong {
		f.list.giveUp(errListSilent)
	}
}

func (f *fleet) setList(l list) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = l
}

// followOnce follows one list until it breaks off, and returns why it did.
func (f *fleet) followOnce() error {
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	f.setList(list{time.Now(), cancel})
	defer f.setList(list{})
	timer := time.AfterFunc(dialTimeout, func() { cancel(errListTimeout) })
	open := f.openList
	if open == nil {
		open = f.requestList
	}
	body, err := open(ctx)
	timer.Stop()
	if err != nil {
		return err
	}
	defer body.Close()
	f.counters.lists.Add(1)
	mute := time.AfterFunc(listSilence, func() { cancel(errListSilent) })
	defer mute.Stop()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, longestLine)
	for named := 0; lines.Scan(); {
		mute.Reset(listSilence)
		if len(lines.Bytes()) == 0 {
			continue
		}
		var line listLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fmt.Errorf("the list has a line that cannot be read: %w", err)
		}
		complete := f.counters.following.Load()
		switch {
		case line.Came != nil && !validID(*line.Came):
			named++
			f.counters.unknownIDs.Add(1)
			f.log.Log(ctx, f.hush.level(), "the gateway lists a container whose id is none", "id", *line.Came)
		case line.Came != nil:
			named++
			f.came(*line.Came)
		case line.Went != nil && complete:
			f.went(*line.Went)
		case line.Went != nil:
			f.forget(*line.Went)
		case line.Complete != nil && !complete:
			if *line.Complete != named {
				return fmt.Errorf("the list says that it is complete with %d containers, but has named %d", *line.Complete, named)
			}
			f.complete()
		}
	}
	switch err := lines.Err(); {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	}
	return errListEnded
}

// requestList opens the list at the gateway.
func (f *fleet) requestList(ctx context.Context) (io.ReadCloser, error) {
	u, err := f.listURL()
	if err != nil {
		return nil, err
	}
	header, err := f.server.bearing(ctx)
	if err != nil {
		return nil, err
	}
	request := &http.Request{Method: http.MethodGet, URL: u, Header: header.Clone()}
	if request.Header == nil {
		request.Header = make(http.Header)
	}
	request.Header.Set("Accept", "application/x-ndjson")
	// A connection and not a client: what is at that URL is the list, or it is not there.
	transport := &http.Transport{
		DialContext:        listDialer.DialContext,
		TLSClientConfig:    f.TLS,
		DisableKeepAlives:  true,
		DisableCompression: true,
	}
	response, err := transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("get %s: %w", u.Redacted(), err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	reason, _ := io.ReadAll(io.LimitReader(response.Body, longestReason)) // what came is reason enough
	line, _, _ := strings.Cut(string(reason), "\n")
	err = fmt.Errorf("get %s: the gateway refused with %s: %s", u.Redacted(), response.Status, strings.TrimSpace(line))
	if deniedStatus(response.StatusCode) {
		err = deniedError{err}
	}
	return nil, err
}

// listDialer finds out about a dead peer as the gateway's listeners do (protocol W4): nothing else would, as we have
// nothing to say there.
var listDialer = net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3}}
