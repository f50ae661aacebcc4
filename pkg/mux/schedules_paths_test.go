package mux

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/diverge-network/gateway/pkg/codec"
)

// The events of answer paths.

// path picks a path whose socket has not ended, whatever the mux thinks of it.
func (s *schedule) path(t *rapid.T, want func(*modelPath) bool) (p *pairPath, ok bool) {
	var eligible []*pairPath
	for _, p := range s.paths {
		if want(p.model) {
			eligible = append(eligible, p)
		}
	}
	return pick(t, eligible, "path")
}

func anyPath(*modelPath) bool        { return true }
func answerPath(p *modelPath) bool   { return p.ask.kind != codec.Notifications }
func residentPath(p *modelPath) bool { return p.ask.kind == codec.Notifications }

func (s *schedule) arrive(t *rapid.T) {
	p, ok := s.path(t, answerPath)
	if !ok {
		return
	}
	s.marks++
	message := resultFor(p.model.ask.kind, fmt.Sprint("m", s.marks))
	switch rapid.IntRange(0, 5).Draw(t, "message") {
	case 0:
		message = message[:len(message)-1]
	case 1:
		message = nil
	case 2:
		message = errorFrame
	}
	first := p.real.Arrived()
	if first {
		p.message = message
	}
	if want := p.model.arrive(string(message)); first != want {
		t.Fatalf("first message %v, want %v", first, want)
	}
}

func (s *schedule) end(p *pairPath) {
	s.paths = slices.DeleteFunc(s.paths, func(q *pairPath) bool { return p == q })
}

func (s *schedule) close(t *rapid.T) {
	p, ok := s.path(t, anyPath)
	if !ok {
		return
	}
	s.closePath(p)
}

func (s *schedule) closePath(p *pairPath) {
	s.end(p)
	_, unreadable := codec.DecodeAnswer(p.model.ask.kind, p.message)
	p.real.Closed(p.message)
	p.model.closed(unreadable == nil)
}

func (s *schedule) breakPath(t *rapid.T) {
	p, ok := s.path(t, anyPath)
	if !ok {
		return
	}
	s.end(p)
	p.real.Broke()
	p.model.broke()
}

// breakOn breaks one announced ask, and again whenever it is asked again, now
// and then after a while.
func (s *schedule) breakOn(t *rapid.T) {
	c := s.container(t)
	a, ok := pick(t, c.model.everyAsk(), "ask")
	for i := 0; ok && i < 12 && a.state == "announced"; i++ {
		s.openFrame(t, c, a.kind, a.channel)
		p := s.paths[len(s.paths)-1]
		s.end(p)
		if seldom(t, 3) {
			s.pass(t)
		}
		p.real.Broke()
		p.model.broke()
		if a.timer >= 0 {
			s.fire(a.timer)
		}
	}
}

func (s *schedule) tooBig(t *rapid.T) {
	if !seldom(t, 4) {
		return
	}
	p, ok := s.path(t, anyPath)
	if !ok {
		return
	}
	s.end(p)
	p.real.TooBig(1 << 20)
	p.model.tooBig()
}

func (s *schedule) notification(t *rapid.T) {
	p, ok := s.path(t, residentPath)
	if !ok {
		return
	}
	s.marks++
	method := fmt.Sprint("notifications/", s.marks)
	message, bad, last := notificationFrame(method), false, false
	switch rapid.IntRange(0, 7).Draw(t, "message") {
	case 0:
		message, bad = []byte{0, '{'}, true
	case 1:
		message, bad, last = []byte{1, '{'}, true, true
	case 2:
		message, last = errorFrame, true
	}
	if got, want := p.real.Notification(message), p.model.notification(method, bad, last); got != want {
		t.Fatalf("last %v, want %v", got, want)
	}
}
