package wstest

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
)

// Opcodes of RFC 6455.
const (
	OpContinuation byte = 0x0
	OpText         byte = 0x1
	OpBinary       byte = 0x2
	OpClose        byte = 0x8
	OpPing         byte = 0x9
	OpPong         byte = 0xA
)

// maxPayload bounds what ReadFrame believes, so that a broken sender fails a
// test instead of exhausting the machine.
const maxPayload = 1 << 30

// Frame is one frame as it stood on the wire, Payload already unmasked.
type Frame struct {
	Fin     bool
	RSV     byte // the three reserved bits, 0 to 7
	Op      byte
	Masked  bool
	Payload []byte
}

func (f Frame) String() string {
	return fmt.Sprintf("frame{op %#x fin %t rsv %d masked %t, %d bytes}", f.Op, f.Fin, f.RSV, f.Masked, len(f.Payload))
}

// CloseCode is the status a Close frame carries, 0 when it carries none.
func (f Frame) CloseCode() int {
	if len(f.Payload) < 2 {
		return 0
	}
	return int(binary.BigEndian.Uint16(f.Payload))
}

// CloseReason is the text after a Close frame's status.
func (f Frame) CloseReason() string {
	if len(f.Payload) < 2 {
		return ""
	}
	return string(f.Payload[2:])
}

// AppendFrame appends f to dst as it goes on the wire, with a random masking
// key when f.Masked.
func AppendFrame(dst []byte, f Frame) []byte {
	dst = AppendHeader(dst, f, uint64(len(f.Payload)))
	if !f.Masked {
		return append(dst, f.Payload...)
	}
	var key [4]byte
	rand.Read(key[:])
	dst = append(dst, key[:]...)
	for i, b := range f.Payload {
		dst = append(dst, b^key[i%4])
	}
	return dst
}

// AppendHeader appends the header of f, up to but without the masking key,
// declaring a payload of any length.
func AppendHeader(dst []byte, f Frame, length uint64) []byte {
	first := f.RSV<<4 | f.Op
	if f.Fin {
		first |= 0x80
	}
	var mask byte
	if f.Masked {
		mask = 0x80
	}
	switch {
	case length <= 125:
		return append(dst, first, mask|byte(length))
	case length <= 0xffff:
		return binary.BigEndian.AppendUint16(append(dst, first, mask|126), uint16(length))
	default:
		return binary.BigEndian.AppendUint64(append(dst, first, mask|127), length)
	}
}

// CloseBody is the body of a Close frame with this status and reason.
func CloseBody(code int, reason string) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(code)), reason...)
}

// ReadFrame reads one frame. io.EOF means that the stream ended between two
// frames; io.ErrUnexpectedEOF, inside one.
func ReadFrame(br *bufio.Reader) (Frame, error) {
	first, err := br.ReadByte()
	if err != nil {
		return Frame{}, err
	}
	f := Frame{Fin: first&0x80 != 0, RSV: first >> 4 & 7, Op: first & 0x0f}
	second, err := br.ReadByte()
	if err != nil {
		return f, inside(err)
	}
	f.Masked = second&0x80 != 0
	length := uint64(second & 0x7f)
	var ext [8]byte
	switch length {
	case 126:
		_, err = io.ReadFull(br, ext[6:])
		length = binary.BigEndian.Uint64(ext[:])
	case 127:
		_, err = io.ReadFull(br, ext[:])
		length = binary.BigEndian.Uint64(ext[:])
	}
	if err != nil {
		return f, inside(err)
	}
	if length > maxPayload {
		return f, fmt.Errorf("wstest: a frame declares %d bytes", length)
	}
	var key [4]byte
	if f.Masked {
		if _, err := io.ReadFull(br, key[:]); err != nil {
			return f, inside(err)
		}
	}
	f.Payload = make([]byte, length)
	if _, err := io.ReadFull(br, f.Payload); err != nil {
		return f, inside(err)
	}
	if f.Masked {
		for i := range f.Payload {
			f.Payload[i] ^= key[i%4]
		}
	}
	return f, nil
}

func inside(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
