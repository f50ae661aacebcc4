package upstream

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

// undialed fails some tools/call as if no connection had come about.
type undialed struct {
	http.RoundTripper
	left atomic.Int32 // calls that fail
}

func (u *undialed) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(text), "tools/call") && u.left.Add(-1) >= 0 {
			req.Body.Close()
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.EADDRNOTAVAIL}
		}
	}
	return u.RoundTripper.RoundTrip(req)
}

func TestACallThatFoundNoConnectionIsMadeAgainInTheSessionThatLives(t *testing.T) {
	server := &raw{answer: func(w http.ResponseWriter, m message) { m.result(w, `{"content":[]}`) }}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	trip := &undialed{RoundTripper: transport}
	u := open(t, Config{URL: newSite(t, server).url(), RoundTripper: trip})
	trip.left.Store(1)
	ask(t, u, codec.CallTool, `{}`)
	trip.left.Store(2)
	discreet(t, fails(t, u, codec.CallTool, `{}`), "was lost before it answered")
	if s := u.Stats(); s.Sessions != 1 || s.Lost != 0 || s.Repeated != 2 {
		t.Errorf("stats %+v", s)
	}
	if got := len(server.got("tools/call")); got != 1 {
		t.Errorf("the server got %d calls", got)
	}
}
