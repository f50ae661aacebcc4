//go:build linux

package floor

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"net"
	"sync"
	"syscall"

	"github.com/gobwas/ws"
	"golang.org/x/sys/unix"

	"github.com/diverge-network/gateway/pkg/codec"
)

func appendSwitching(dst, key []byte) []byte {
	var challenge [64]byte
	sum := sha1.Sum(append(append(challenge[:0], key...), "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"...))
	dst = append(dst, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "...)
	return append(base64.StdEncoding.AppendEncode(dst, sum[:]), "\r\n\r\n"...)
}

func reply(nc net.Conn) { _, _ = nc.Write(closeReply) }

// lastReply has the system wait for more: the close that follows sends it with the end.
func lastReply(nc net.Conn) {
	raw, err := nc.(syscall.Conn).SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = unix.SendmsgN(int(fd), closeReply, nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL) })
}

// buffers are of small messages and of big ones.
var buffers = sync.Pool{New: func() any { return &buffer{make([]byte, 4<<10)} }}

type buffer struct{ b []byte }

// closeReply answers a Close of status 1000.
var closeReply = []byte{0x88, 2, 0x03, 0xe8}

// takeAnswer reads a message and a Close, and answers the Close by reply; check says that the message has to be JSON.
func takeAnswer(nc net.Conn, check bool, reply func(net.Conn)) {
	room := buffers.Get().(*buffer)
	defer buffers.Put(room)
	for n := 0; ; {
		r, err := nc.Read(room.b[n:])
		if err != nil {
			return
		}
		n += r
		for {
			op, message, rest, ok := unframe(room.b[:n])
			if !ok {
				break
			}
			if op == ws.OpClose {
				reply(nc)
				return
			}
			if check && codec.CheckJSON(message[1:]) != nil {
				return
			}
			n = copy(room.b, rest)
		}
		if n == len(room.b) {
			// The declared length is trusted here, which is cheaper than growing.
			bigger := make([]byte, declared(room.b)+64)
			copy(bigger, room.b)
			room.b = bigger
		}
	}
}

// declared is the length of the whole frame whose header begins b.
func declared(b []byte) int {
	n, at := header(b)
	return at + n
}

func header(b []byte) (n, at int) {
	n, at = int(b[1]&0x7f), 2
	switch n {
	case 126:
		n, at = int(binary.BigEndian.Uint16(b[2:])), 4
	case 127:
		n, at = int(binary.BigEndian.Uint64(b[2:])), 10
	}
	return n, at + 4
}

// unframe splits a whole masked frame off b, and unmasks it in place.
func unframe(b []byte) (op ws.OpCode, payload, rest []byte, ok bool) {
	if len(b) < 14 && (len(b) < 6 || int(b[1]&0x7f) >= 126 || len(b) < 6+int(b[1]&0x7f)) {
		return 0, nil, b, false
	}
	n, at := header(b)
	if len(b) < at+n {
		return 0, nil, b, false
	}
	payload = b[at : at+n]
	ws.Cipher(payload, [4]byte(b[at-4:at]), 0)
	return ws.OpCode(b[0] & 0x0f), payload, b[at+n:], true
}

// writeFrames waits for a byte, and then writes one frame after the other until the other side leaves.
func writeFrames(nc net.Conn, size int) {
	frame := []byte{0x82}
	if size < 126 {
		frame = append(frame, byte(size))
	} else {
		frame = binary.BigEndian.AppendUint16(append(frame, 126), uint16(size))
	}
	frame = append(frame, make([]byte, size)...)
	if _, err := nc.Read(make([]byte, 1)); err != nil {
		return
	}
	for {
		if _, err := nc.Write(frame); err != nil {
			return
		}
	}
}
