//go:build linux

package floor

import (
	"bytes"
	"net"
	"strings"
	"sync"

	"github.com/diverge-network/gateway/internal/sock"
)

const headRoom = 8 << 10

var heads = sync.Pool{New: func() any { return new([headRoom]byte) }}

var headEnd = []byte("\r\n\r\n")

// mostResting is how many goroutines wait for the next connection at most: their stacks have grown to what one takes.
const mostResting = 32

// work serves one connection after the other.
func (f *Floors) work(nc net.Conn) {
	for nc != nil {
		if !f.serve(nc) {
			_ = nc.Close()
		}
		nc = nil
		if f.resting.Add(1) <= mostResting {
			select {
			case nc = <-f.next:
			case <-f.stopping:
			}
		}
		f.resting.Add(-1)
	}
}

// serve is one connection of the plain listener; kept says that somebody else closes it.
func (f *Floors) serve(nc net.Conn) (kept bool) {
	room := heads.Get().(*[headRoom]byte)
	n, head := 0, -1
	for head < 0 {
		r, err := nc.Read(room[n:])
		if err != nil {
			heads.Put(room)
			return false
		}
		n += r
		head = bytes.Index(room[:n], headEnd)
	}
	line, _, _ := bytes.Cut(room[:n], []byte(" HTTP/1.1\r\n"))
	method, target, _ := strings.Cut(string(line), " ")
	if method == "POST" {
		posts(nc, room, n, target)
		heads.Put(room)
		return false
	}
	out := append([]byte(nil), "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"...)
	if key := headerOf(room[:n], "\r\nSec-WebSocket-Key: "); key != nil {
		out = appendSwitching(out[:0], key)
	}
	heads.Put(room)
	path, query, _ := strings.Cut(target, "?")
	if path == StreamPath { // before it is told that it hears
		f.streams.add(nc, query)
	}
	if _, err := nc.Write(out); err != nil {
		return false
	}
	switch {
	case path == AnswerPath:
		takeAnswer(nc, false, reply)
	case path == LastPath:
		takeAnswer(nc, false, lastReply)
	case path == CheckedPath:
		takeAnswer(nc, true, lastReply)
	case strings.HasPrefix(path, FramesPath):
		writeFrames(nc, sizeBehind(path, FramesPath))
	case path == TriggerPath:
		f.trigger(nc, query)
	case path == IdlePath || path == StreamPath:
		go f.hold(nc) // on a fresh stack
		return true
	}
	return false
}

// hold is a waiting connection: one goroutine, without a buffer.
func (f *Floors) hold(nc net.Conn) {
	defer func() { _ = nc.Close() }()
	defer f.streams.remove(nc)
	for c := sock.Wrap(nc); ; {
		chunk, err := c.ReadIdle()
		if err != nil {
			return
		}
		chunk.Release()
	}
}

func headerOf(head []byte, name string) []byte {
	at := bytes.Index(head, []byte(name))
	if at < 0 {
		return nil
	}
	value, _, _ := bytes.Cut(head[at+len(name):], []byte("\r\n"))
	return value
}

// posts answers a POST and those that follow it on the connection.
func posts(nc net.Conn, room *[headRoom]byte, n int, path string) {
	body := smallBody
	if strings.HasPrefix(path, BigPath) {
		body = bigBody(sizeBehind(path, BigPath))
	}
	response := append(responseHead(len(body)), body...)
	for {
		if whole(room[:n]) {
			if _, err := nc.Write(response); err != nil {
				return
			}
			n = 0
		}
		r, err := nc.Read(room[n:])
		if err != nil {
			return
		}
		n += r
	}
}

// whole tells whether b is a request with its body.
func whole(b []byte) bool {
	head := bytes.Index(b, headEnd)
	if head < 0 {
		return false
	}
	length := 0
	for _, c := range headerOf(b[:head+2], "\r\nContent-Length: ") {
		length = 10*length + int(c-'0')
	}
	return len(b) >= head+len(headEnd)+length
}
