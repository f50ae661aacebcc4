package mux

import (
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

// This file is the rules once more, as naively as they can be written: slices,
// maps and strings, every question answered by looking at everything. It shares
// nothing with the mux but the vocabulary. schedules_test.go runs both.

type modelAsk struct {
	kind    codec.Kind
	payload string

	state     string // "waiting" for the next connection or a timer, "announced", "open", "done"
	channel   uint32
	asked     int
	again     Reason
	broken    int // times asked again after breaking, on this connection
	openedAt  time.Duration
	timer     int // index of the armed timer, -1 for none
	there     bool
	left      bool
	cancelled bool
	path      *modelPath

	settled []Outcome
	marks   []string // what each settlement carried
}

type modelPath struct {
	c         *modelContainer
	ask       *modelAsk
	arrived   bool
	message   string
	cancelled bool
	over      bool // ended, as far as the socket is concerned
	closes    int
}

type modelContainer struct {
	m        *model
	next     uint32
	asks     []*modelAsk // every ask ever made, in order
	resident *modelAsk   // nil until it is made
	claims   int         // ever made
	holder   int         // number of the claim held, 0 for none
	live     bool
	wire     [][]frame // per claim
	heard    []string

	id       string
	entered  int
	present  bool
	exitedAt time.Duration // the last exit
	activeAt time.Duration // when it last had anything, or anything happened to it
	sunk     int           // how often its sink was told that it is forgotten
}

type modelTimer struct {
	c     *modelContainer
	ask   *modelAsk
	delay time.Duration
}

type model struct {
	reaskAfter time.Duration
	idle       time.Duration
	limits     Limits
	now        time.Duration
	told       []string // to the follower, since the last look
	stopped    bool
	timers     []modelTimer
	stats      Stats
}

func (c *modelContainer) everyAsk() []*modelAsk {
	if c.resident == nil {
		return c.asks
	}
	return append([]*modelAsk{c.resident}, c.asks...)
}

func (c *modelContainer) inUse(channel uint32) *modelAsk {
	for _, a := range c.everyAsk() {
		if a.channel == channel && (a.state == "announced" || a.state == "open") {
			return a
		}
	}
	return nil
}

func (c *modelContainer) announce(a *modelAsk) {
	for c.next == 0 || c.inUse(c.next) != nil {
		c.next++
	}
	if a.asked > 0 {
		c.m.stats.Reasked[a.again]++
	}
	a.channel, a.state, a.timer = c.next, "announced", -1
	a.asked++
	c.next++
	c.wire[c.holder-1] = append(c.wire[c.holder-1], frame{a.channel, a.kind, a.payload})
	if c.resident == nil {
		c.resident = &modelAsk{kind: codec.Notifications, state: "waiting", timer: -1, there: true}
		c.announce(c.resident)
	}
}

// busy reports whether c has anything for which it may not be forgotten.
func (c *modelContainer) busy() bool {
	if c.entered > 0 || c.holder != 0 {
		return true
	}
	for _, a := range c.everyAsk() {
		if a.state == "open" || a != c.resident && a.state != "done" {
			return true
		}
	}
	return false
}

func (c *modelContainer) enter() {
	c.entered++
	if !c.present {
		c.present = true
		c.m.told = append(c.m.told, "came "+c.id)
	}
}

func (c *modelContainer) exit() {
	c.entered--
	c.exitedAt = c.m.now
}

// sweep reports whether c is forgotten.
func (c *modelContainer) sweep() bool {
	if c.m.idle == 0 {
		return false
	}
	if c.present && c.entered == 0 && c.m.now-c.exitedAt >= c.m.idle {
		c.present = false
		c.m.told = append(c.m.told, "went "+c.id)
	}
	if c.busy() || c.present || c.m.now-c.activeAt < c.m.idle {
		return false
	}
	c.sunk++
	return true
}

func (c *modelContainer) ask(k codec.Kind, payload string) *modelAsk {
	c.activeAt = c.m.now
	a := &modelAsk{kind: k, payload: payload, state: "waiting", timer: -1, there: true}
	c.asks = append(c.asks, a)
	if c.m.stopped {
		c.end(a, Stopped, "")
	} else if c.live {
		c.announce(a)
	}
	return a
}

// end ends a for good; its caller, if there still is one, is told.
func (c *modelContainer) end(a *modelAsk, o Outcome, mark string) {
	a.state, a.path, a.timer = "done", nil, -1
	if a.there && a.kind != codec.Notifications {
		a.there = false
		a.settled = append(a.settled, o)
		a.marks = append(a.marks, mark)
		c.m.stats.Settled[a.kind][o]++
	}
}

func (c *modelContainer) depart(a *modelAsk, cancel bool) bool {
	if !a.there && !a.left {
		return false
	}
	if a.there {
		a.there, a.left = false, true
		how := Left
		if cancel {
			how = Cancelled
		}
		c.m.stats.Settled[a.kind][how]++
		if a.state == "waiting" {
			c.end(a, how, "")
		}
	}
	if cancel && !a.cancelled {
		a.cancelled = true
		if a.path != nil && !a.path.arrived {
			a.path.closes++
		}
	}
	return true
}

func (c *modelContainer) claim() bool {
	if c.holder != 0 {
		return false
	}
	c.claims++
	c.holder = c.claims
	c.wire = append(c.wire, nil)
	return true
}

func (c *modelContainer) attach() {
	c.live = true
	for _, a := range c.everyAsk() {
		if a.state == "waiting" {
			c.announce(a)
		}
	}
}

func (c *modelContainer) detach(claim int) {
	if c.holder != claim {
		return
	}
	wasLive := c.live
	c.holder, c.live = 0, false
	if !wasLive {
		return
	}
	for _, a := range c.everyAsk() {
		a.broken, a.timer = 0, -1
		if a.state == "announced" && a.left {
			c.end(a, Left, "")
		} else if a.state == "announced" {
			a.state, a.again = "waiting", ReasonLost
		}
	}
}

func (c *modelContainer) open(k codec.Kind, channel uint32) (*modelPath, error) {
	a := c.inUse(channel)
	if a == nil || a.kind != k {
		return nil, ErrUnknownChannel
	}
	if a.state == "open" {
		return nil, ErrPathOpen
	}
	a.state, a.openedAt = "open", c.m.now
	a.path = &modelPath{c: c, ask: a, cancelled: a.cancelled}
	return a.path, nil
}

func (p *modelPath) current() bool { return p.ask.path == p }

func (p *modelPath) arrive(message string) bool {
	if p.arrived {
		p.c.m.stats.ExtraMessages++
		return false
	}
	p.arrived, p.message = true, message
	return true
}

// closed is a clean end; readable says whether the message it brought decodes.
func (p *modelPath) closed(readable bool) {
	p.over = true
	if !p.current() {
		return
	}
	if p.ask.kind == codec.Notifications {
		p.ask.path, p.ask.state, p.ask.again = nil, "waiting", ReasonEnded
		return
	}
	switch {
	case p.arrived && !p.ask.there:
		p.c.m.stats.DroppedAnswers++
		p.c.end(p.ask, Answered, "")
	case p.arrived && readable:
		p.c.end(p.ask, Answered, p.message[1:])
	case p.arrived:
		p.c.end(p.ask, Unreadable, "")
	default:
		p.c.end(p.ask, NotServed, "")
	}
}

func (p *modelPath) tooBig() {
	if p.ask.kind == codec.Notifications {
		p.broke()
		return
	}
	p.over = true
	if p.current() {
		if p.arrived && !p.ask.there {
			p.c.m.stats.DroppedAnswers++
		}
		p.c.end(p.ask, TooBig, "")
	}
}

func (p *modelPath) broke() {
	p.over = true
	if !p.current() {
		return
	}
	a, c := p.ask, p.c
	if p.arrived {
		c.m.stats.DiscardedMessages++
	}
	if a.left {
		c.end(a, Left, "")
		return
	}
	a.path, a.state, a.again = nil, "waiting", ReasonBroke
	if a.kind == codec.Notifications && c.m.now-a.openedAt >= 30*time.Second {
		a.broken = 0
	}
	if !c.live || a.broken >= 3 || c.m.reaskAfter == Never {
		return
	}
	if c.m.reaskAfter == 0 {
		a.broken++
		c.announce(a)
		return
	}
	delay := c.m.reaskAfter
	for range a.broken {
		delay *= 2
	}
	a.timer = len(c.m.timers)
	c.m.timers = append(c.m.timers, modelTimer{c, a, delay})
}

func (m *model) fire(timer int) {
	t := m.timers[timer]
	if t.ask.timer == timer {
		t.ask.broken++
		t.c.announce(t.ask)
	}
}

func (p *modelPath) notification(method string, bad, last bool) (isLast bool) {
	if !p.current() {
		return true
	}
	if bad {
		p.c.m.stats.Undecodable++
	} else if !last {
		p.c.m.stats.Notifications++
		p.c.heard = append(p.c.heard, method)
	}
	if last {
		p.c.m.stats.ErrorEnds++
		p.ask.path, p.ask.state, p.ask.again = nil, "waiting", ReasonEnded
	}
	return last
}

func (c *modelContainer) stop() {
	for _, a := range c.everyAsk() {
		if a.state != "done" {
			c.end(a, Stopped, "")
		}
	}
}

// gauges counts, over all containers, what Stats keeps as gauges.
func (m *model) gauges(containers []*modelContainer) Stats {
	s := m.stats
	s.Containers = int64(len(containers))
	for _, c := range containers {
		if c.present {
			s.Present++
		}
		if c.live {
			s.Connected++
		}
		for _, a := range c.everyAsk() {
			waiting, announced, open := &s.Waiting, &s.Announced, &s.Open
			if a == c.resident {
				waiting, announced, open = &s.Resident.Waiting, &s.Resident.Announced, &s.Resident.Open
			}
			switch a.state {
			case "waiting":
				*waiting++
			case "announced":
				*announced++
			case "open":
				*open++
			}
		}
	}
	return s
}
