package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

func TestCallsThatKeepFailingAreLoggedOncePerCauseWithTheContainer(t *testing.T) {
	status := 503
	server := &raw{answer: func(w http.ResponseWriter, m message) { http.Error(w, fmt.Sprint("request ", m.ID), status) }}
	log := &journal{}
	s := openShared(t, nil, Config{URL: newSite(t, server).url(), Logger: log.logger()})
	call := func(container string) {
		t.Helper()
		_, err := s.For(container).Answer(t.Context(), codec.CallTool, []byte(`{}`))
		var object *codec.Error
		if !errors.As(err, &object) {
			t.Fatalf("the call ended with %v", err)
		}
		discreet(t, object, fmt.Sprintf("refused the request (HTTP status %d)", status))
	}
	const line = `msg="the MCP server did not answer a call"`
	for range 50 {
		call("c1")
	}
	if log.count(line) != 1 || log.count("level=WARN") != 1 || log.count("container=c1") != 1 {
		t.Errorf("50 calls of one cause are logged as\n%s", log)
	}
	status = 501
	call("c2")
	status = 503
	call("c3")
	if log.count(line) != 2 || log.count("container=c2") != 1 || log.count("container=c3") != 0 {
		t.Errorf("a second cause is logged as\n%s", log)
	}
}

func TestComplaintsAreDueWhenTheCauseChangesOrAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c complaints
		due := func(want int, told, cause string) {
			t.Helper()
			if got := c.due(told, errors.New(cause), 1); got != want {
				t.Errorf("%s: %s: due with %d calls, want %d", told, cause, got, want)
			}
		}
		due(1, toldLost, "read tcp 127.0.0.1:41234: reset")
		due(0, toldLost, "read tcp 127.0.0.1:5: reset")
		due(1, toldUnreachable, "refused")
		due(0, toldUnreachable, "refused")
		due(2, toldUnreachable, "no such host")
		for range complaintEvery / time.Second {
			due(0, toldLost, "read tcp 127.0.0.1:77: reset")
			<-time.After(time.Second)
		}
		due(int(complaintEvery/time.Second)+2, toldLost, "read tcp 127.0.0.1:77: reset")
		if got := c.due(toldLost, &brokenError{cause: errClosed}, 1) + c.due("", errClosed, 1); got != 0 {
			t.Errorf("the end is a complaint: %d", got)
		}
	})
}

func TestAnAnswerToAnotherRequestEndsOnlyItsOwnCall(t *testing.T) {
	box := make(chan struct{})
	arrived := make(chan string, 1)
	server := &raw{answer: func(w http.ResponseWriter, m message) {
		if strings.Contains(m.raw, "patient") {
			arrived <- string(m.ID)
			<-box
			m.result(w, `{"content":[]}`)
			return
		}
		m.json(w, 200, `{"jsonrpc":"2.0","id":`+<-arrived+`,"result":{"stolen":true}}`)
	}, pinged: func() { t.Error("a server that answered is pinged") }}
	u := open(t, Config{URL: newSite(t, server).url()})
	patient := make(chan string, 1)
	go func() { patient <- ask(t, u, codec.CallTool, `{"name":"patient"}`) }()
	discreet(t, fails(t, u, codec.CallTool, `{"name":"thief"}`), "answer is none to this request")
	close(box)
	if got := soon(t, patient); got != `{"content":[]}` {
		t.Errorf("the other call was answered with %s", got)
	}
}

func TestAHandshakeAnsweredUnderAnotherIDFailsAtOnce(t *testing.T) {
	log := &journal{}
	u := open(t, Config{URL: newSite(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		message{}.json(w, 200, `{"jsonrpc":"2.0","id":777,"result":{"protocolVersion":"`+offered+`"}}`)
	})).url(), Logger: log.logger(), ConnectTimeout: time.Hour})
	discreet(t, fails(t, u, codec.ListTools, "null"), "cannot be reached")
	log.has(t, "request 777")
}

func TestWhatIsSaidToANotificationIsIgnored(t *testing.T) {
	real := &raw{answer: func(w http.ResponseWriter, m message) { m.result(w, `{"tools":[]}`) }}
	ignored := make(chan string, 10)
	u := open(t, Config{URL: newSite(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body) // what is cut short is no notification
		if strings.Contains(string(body), `"notifications/`) {
			ignored <- string(body)
			message{}.json(w, 200, `{"ok":true}`)
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		real.ServeHTTP(w, req)
	})).url()})
	got := ask(t, u, codec.ListTools, "null")
	if len(ignored) != 1 || u.Stats().Sessions != 1 {
		t.Errorf("answered %s after %d notifications, stats %+v", got, len(ignored), u.Stats())
	}
}

func TestTheFirstContactIsAnnouncedOnceForMany(t *testing.T) {
	log := &journal{}
	openShared(t, nil, Config{Logger: log.logger()})
	open(t, Config{URL: "http://127.0.0.1:1/mcp", Logger: log.logger()})
	if log.count(contactedLater) != 1 || log.count("level=INFO") != 1 {
		t.Errorf("logged:\n%s", log)
	}
}
