package inside

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/pkg/stream"
)

// TestN7_NotificationsThatCameTogetherAreHeardInOrder has more of them than one
// batch holds, and one that is too big for any.
func TestN7_NotificationsThatCameTogetherAreHeardInOrder(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	p.exchange(s)
	streams := []*eventStream{s.listen(), w.connect("c1").listen()}
	var all []string
	for i := range 2*stream.BatchMessages + 9 {
		all = append(all, numbered(i))
	}
	for _, padding := range []int{stream.BatchBytes, stream.BatchBytes - 60, 3000, 3000, 3000} {
		all = append(all, fmt.Sprintf(`{"method":"notifications/n","params":{"s":"%s"}}`, strings.Repeat("s", padding)), numbered(padding))
	}
	all = append(all, "{ \"method\":\n\"notifications/n\"\r}", numbered(-1))
	p.notify(all...)
	for _, e := range streams {
		for _, n := range all {
			e.event(strings.NewReplacer("\n", " ", "\r", " ").Replace(versioned(n)))
		}
	}
	if got := w.observed.of("unheard " + UnheardNoStream); got != 0 {
		t.Errorf("%d notifications count as unheard", got)
	}
}

func TestN7_TheSameChangeIsToldOnceWhereItCameTogether(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	p.exchange(s)
	e := s.listen()
	const updated = `{"method":"notifications/resources/updated","params":{"uri":"file:///%s"}}`
	a, b := fmt.Sprintf(updated, "a"), fmt.Sprintf(updated, "b")
	p.notify(toolsChanged, a, toolsChanged, b, a, numbered(1), numbered(1), toolsChanged)
	for _, want := range []string{toolsChanged, a, b, numbered(1), numbered(1)} {
		e.event(versioned(want))
	}
	p.notify(toolsChanged)
	e.event(versioned(toolsChanged))
	if got := w.streams.Coalesced.Load(); got != 3 {
		t.Errorf("%d were merged", got)
	}
}

// TestN7_WhatCameTogetherGoesToWhomItIsFor has progress, changes and others come
// together, for a request, a subscription and a session.
func TestN7_WhatCameTogetherGoesToWhomItIsFor(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	p.exchange(s)
	session, subscription := s.listen(), w.subscribe("7", toolsTopic, toolsTopic)
	conn := w.raw("")
	s.postOn(conn, progressCall("1", `"mine"`))
	asked := p.next()
	token := asked.token(t)
	p.notify(numbered(0), progressOf(token, 1), toolsChanged, progressOf(token, 2), resourcesChanged, numbered(1))
	for _, want := range []string{numbered(0), toolsChanged, resourcesChanged, numbered(1)} {
		session.event(versioned(want))
	}
	subscription.event(changed("tools", "7"))
	request := w.answered(conn, bufio.NewReader(conn)).isStream()
	request.event(progressOf(`"mine"`, 1))
	request.event(progressOf(`"mine"`, 2))
	p.result(asked, emptyContent)
	request.event(answerOf("1"))
}

func TestN7_WhatCameTogetherAndNobodyHeardIsCounted(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	p.exchange(s)
	p.notify(numbered(1), toolsChanged, numbered(2))
	w.observed.await(t, "unheard "+UnheardNoStream, 3)
	subscription := w.subscribe("7", toolsTopic, toolsTopic)
	p.notify(numbered(3), toolsChanged, numbered(4))
	subscription.event(changed("tools", "7"))
	w.observed.await(t, "unheard "+UnheardNoStream, 5)
	if got := w.observed.of("unheard " + UnheardNoStream); got != 5 {
		t.Errorf("%d notifications count as unheard", got)
	}
}
