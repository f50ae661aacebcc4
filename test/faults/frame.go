package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
)

// WebSocket as far as a provider needs it, in bytes that can be counted.

const (
	opBinary = 0x2
	opClose  = 0x8
	opPing   = 0x9
	opPong   = 0xa
)

// upgrade is a provider's request for a path.
func upgrade(path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n")
}

// refusedError is an upgrade that was refused.
type refusedError struct{ status int }

func (e *refusedError) Error() string {
	return fmt.Sprintf("the upgrade was refused with %d", e.status)
}

func readSwitching(in *bufio.Reader) error {
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		_ = response.Body.Close() // nothing follows on this connection
		return &refusedError{response.StatusCode}
	}
	return nil
}

// frame is a whole masked frame.
func frame(op byte, payload []byte) []byte {
	b := []byte{0x80 | op}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	mask := rand.Uint32()
	b = binary.BigEndian.AppendUint32(b, mask)
	for i, c := range payload {
		b = append(b, c^byte(mask>>(24-8*(i%4))))
	}
	return b
}

func closeFrame() []byte { return frame(opClose, []byte{3, 232}) } // 1000

const longestFrame = 64 << 20

// readFrame reads a frame of the gateway's, which are whole and bare.
func readFrame(in *bufio.Reader) (op byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1])
	var long [8]byte
	switch n {
	case 126:
		_, err = io.ReadFull(in, long[6:])
		n = binary.BigEndian.Uint64(long[:])
	case 127:
		_, err = io.ReadFull(in, long[:])
		n = binary.BigEndian.Uint64(long[:])
	}
	if err != nil {
		return 0, nil, err
	}
	if n > longestFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes", n)
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(in, payload)
	return head[0] & 0xf, payload, err
}
