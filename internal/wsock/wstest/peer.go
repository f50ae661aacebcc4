package wstest

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// Peer is one raw end of a WebSocket. Sending and reading may happen in two
// goroutines at once; neither may be shared.
type Peer struct {
	NC    *net.TCPConn
	Masks bool // whether what it sends is masked: true for a client

	tb testing.TB
	br *bufio.Reader
}

// Wrap makes a Peer of an established connection, without any handshake.
// Masks says whether it plays the client.
func Wrap(tb testing.TB, nc *net.TCPConn, masks bool) *Peer {
	tb.Cleanup(func() { nc.Close() })
	return &Peer{NC: nc, Masks: masks, tb: tb, br: bufio.NewReader(nc)}
}

func (p *Peer) fatalf(format string, args ...any) {
	if p.tb == nil {
		return // made by Try: what went wrong shows on the next read
	}
	p.tb.Helper()
	p.tb.Fatalf(format, args...)
}

// Raw sends bytes as they are, in one write.
func (p *Peer) Raw(b []byte) {
	p.NC.SetWriteDeadline(time.Now().Add(Patience))
	if _, err := p.NC.Write(b); err != nil {
		p.fatalf("wstest: write: %v", err)
	}
}

// Send sends frames in one write, each masked or not as the Peer's role has
// it, whatever their own Masked says.
func (p *Peer) Send(frames ...Frame) {
	var out []byte
	for _, f := range frames {
		f.Masked = p.Masks
		out = AppendFrame(out, f)
	}
	p.Raw(out)
}

// Binary sends one binary message in one frame.
func (p *Peer) Binary(payload []byte) { p.Send(Frame{Fin: true, Op: OpBinary, Payload: payload}) }

// Text sends one text message in one frame.
func (p *Peer) Text(payload []byte) { p.Send(Frame{Fin: true, Op: OpText, Payload: payload}) }

// Ping sends a ping.
func (p *Peer) Ping(payload []byte) { p.Send(Frame{Fin: true, Op: OpPing, Payload: payload}) }

// Pong sends a pong.
func (p *Peer) Pong(payload []byte) { p.Send(Frame{Fin: true, Op: OpPong, Payload: payload}) }

// Fragments sends one message of kind op, cut into one frame per part, all in
// one write.
func (p *Peer) Fragments(op byte, parts ...[]byte) {
	frames := make([]Frame, len(parts))
	for i, part := range parts {
		frames[i] = Frame{Op: OpContinuation, Fin: i == len(parts)-1, Payload: part}
	}
	frames[0].Op = op
	p.Send(frames...)
}

// Close sends a Close with this status and no reason; 0 sends an empty one.
// The connection stays open.
func (p *Peer) Close(code int) {
	if code == 0 {
		p.CloseBody(nil)
		return
	}
	p.CloseBody(CloseBody(code, ""))
}

// CloseBody sends a Close with this body, valid or not.
func (p *Peer) CloseBody(body []byte) { p.Send(Frame{Fin: true, Op: OpClose, Payload: body}) }

// BinaryAndClose sends one binary message and a Close of 1000 in one write: an
// answer.
func (p *Peer) BinaryAndClose(payload []byte) {
	p.Send(Frame{Fin: true, Op: OpBinary, Payload: payload},
		Frame{Fin: true, Op: OpClose, Payload: CloseBody(1000, "")})
}

// FIN half-closes: the other side reads the end of the stream.
func (p *Peer) FIN() {
	if err := p.NC.CloseWrite(); err != nil {
		p.fatalf("wstest: half-close: %v", err)
	}
}

// Reset ends the connection with a TCP reset.
func (p *Peer) Reset() {
	p.NC.SetLinger(0)
	p.NC.Close()
}

// CloseThenReset sends a Close and resets at once, without waiting for the
// answer.
func (p *Peer) CloseThenReset(code int) {
	p.Close(code)
	p.Reset()
}

// Next reads the next frame, of any kind. It fails no test.
func (p *Peer) Next() (Frame, error) {
	p.NC.SetReadDeadline(time.Now().Add(Patience))
	return ReadFrame(p.br)
}

// Read reads the next frame and fails the test if there is none, or if it is
// masked the wrong way.
func (p *Peer) Read() Frame {
	p.tb.Helper()
	f, err := p.Next()
	if err != nil {
		p.tb.Fatalf("wstest: reading a frame: %v", err)
	}
	if f.Masked == p.Masks {
		p.tb.Fatalf("wstest: %v is masked the wrong way", f)
	}
	return f
}

// ReadBinary reads the next frame, which must be one whole binary message
// (protocol W2), and returns its payload.
func (p *Peer) ReadBinary() []byte {
	p.tb.Helper()
	return p.read(OpBinary).Payload
}

// ReadPing reads the next frame, which must be a ping.
func (p *Peer) ReadPing() []byte {
	p.tb.Helper()
	return p.read(OpPing).Payload
}

// ReadPong reads the next frame, which must be a pong.
func (p *Peer) ReadPong() []byte {
	p.tb.Helper()
	return p.read(OpPong).Payload
}

// ReadClose reads the next frame, which must be a Close, and returns its
// status (0 if it has none) and reason.
func (p *Peer) ReadClose() (code int, reason string) {
	p.tb.Helper()
	f := p.read(OpClose)
	return f.CloseCode(), f.CloseReason()
}

func (p *Peer) read(op byte) Frame {
	p.tb.Helper()
	f := p.Read()
	if f.Op != op || !f.Fin || f.RSV != 0 {
		p.tb.Fatalf("wstest: got %v %q, wanted one whole frame of op %#x", f, clip(f.Payload), op)
	}
	return f
}

// ReadEOF fails the test unless the stream now ends in an orderly way, between
// two frames.
func (p *Peer) ReadEOF() {
	p.tb.Helper()
	if f, err := p.Next(); err != io.EOF {
		p.tb.Fatalf("wstest: got %v, error %v; wanted the end of the stream", f, err)
	}
}

// ReadGone fails the test unless the connection is now over, by an end of
// stream or by a reset, without a further frame.
func (p *Peer) ReadGone() {
	p.tb.Helper()
	f, err := p.Next()
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		p.tb.Fatalf("wstest: got %v, error %v; wanted the connection to be over", f, err)
	}
	if err != io.EOF && err != io.ErrUnexpectedEOF && !errors.Is(err, syscall.ECONNRESET) {
		p.tb.Fatalf("wstest: got error %v; wanted the end of the stream or a reset", err)
	}
}

// Buffered says how many bytes have been read from the connection and not yet
// been asked for: what came in the same segment as the last frame or 101.
func (p *Peer) Buffered() int { return p.br.Buffered() }

func clip(b []byte) []byte { return b[:min(len(b), 64)] }
