package answer

import (
	"errors"
	"fmt"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

const (
	// unreadBytes is how much may wait for the gateway to read it before send blocks.
	unreadBytes = 1 << 20
	// unreadRetry is how often a blocked send looks again; a socket does not tell when it has drained.
	unreadRetry = 10 * time.Millisecond
)

// notify serves an open path of kind 4: a message per notification, and an error as the last one (protocol N3).
func (p *path) notify() Outcome {
	p.run.tells(p)
	defer p.run.told(p)
	err := p.listen()
	switch {
	case p.over():
		return Abandoned
	case err == nil, errors.Is(err, ErrNotServed), p.alive.Err() != nil:
		if !p.close() {
			return Unconfirmed
		}
		if errors.Is(err, ErrNotServed) {
			return NotServed
		}
		return Answered
	}
	p.send(codec.TagError, p.errorObject(codec.Notifications, err))
	if !p.close() {
		return Unconfirmed
	}
	return Failed
}

func (p *path) listen() (err error) {
	defer p.recover(&err)
	return p.run.handler.Notifications(p.alive, p.sendNotification)
}

func (p *path) sendNotification(notification []byte) error {
	if _, err := codec.ParseNotification(notification); err != nil {
		return fmt.Errorf("not a notification: %w", err)
	}
	if !p.room() {
		return ErrPathEnded
	}
	p.send(codec.TagResult, notification)
	p.run.counters.notifications.Add(1)
	return nil
}

// room waits until the path can take more, and reports whether it is still open.
func (p *path) room() bool {
	if p.sock.Pending() <= unreadBytes {
		return !p.over()
	}
	look := time.NewTicker(unreadRetry)
	defer look.Stop()
	for p.sock.Pending() > unreadBytes {
		select {
		case <-look.C:
		case <-p.ended:
			return false
		}
	}
	return !p.over()
}
