package inside

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http/httputil"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/diverge-network/gateway/internal/httphead"
)

// TestChunksThatAreNone ends the connection, behind which nobody knows what is
// a request.
func TestChunksThatAreNone(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	whole := fmt.Sprintf("%x\r\n%s\r\n", len(pingBody), pingBody)
	for _, body := range []string{
		"x\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", " 1\r\n", "1 \r\n", "\r\n", ";x\r\n", "1_0\r\n", "ffffffffffffffffff\r\n",
		"1\n{\r\n", "1\r{\r\n", "1\r\r\n", "1\r\n{}\r\n", "1\r\n{\n", "1\r\n{1\r\n", "1;x\ny\r\n", "1;x\ry\r\n", "1;\x00\r\n",
		strings.ReplaceAll(whole, "\r\n", "\n"), whole + "0\n\n", whole + "0\r\n\n",
		whole + "0\r\nbad trailer\r\n\r\n", whole + "0\r\nA: b\n\r\n", whole + "0\r\nA: b\r\n c: d\r\n\r\n",
		whole + "0\r\nA B: c\r\n\r\n", whole + "0\r\n: c\r\n\r\n", whole + "0\r\nA: b\rc\r\n\r\n", whole + "00000000000000000\r\n\r\n",
		whole + "0\r\nA: " + strings.Repeat("x", 2*maxHeader) + "\r\n\r\n",
		whole + "0\r\n" + strings.Repeat("A: b\r\n", maxExtra/5+1) + "\r\n",
		"1;" + strings.Repeat("x", 2*maxHeader),
		strings.Repeat("1;"+strings.Repeat("x", 99)+"\r\n{\r\n", maxExtra/100+1),
	} {
		in := bufio.NewReader(w.raw(postHead(s.path, s.token, "Transfer-Encoding: chunked") + body))
		if r := w.readResponse(in, "POST").fails(400, codeTransport, "", "malformed"); !r.closes {
			t.Errorf("%.40q: the connection is not announced to close", body)
		}
		if _, err := in.ReadByte(); err != io.EOF {
			t.Errorf("%.40q: the connection goes on: %v", body, err)
		}
	}
}

// TestAChunkOverTheLimitIsNotWaitedFor takes the size of a chunk for what a
// declared length is.
func TestAChunkOverTheLimitIsNotWaitedFor(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	for _, body := range []string{"fffffffffffffff\r\n", "800001\r\n", "1\r\n{\r\n800000\r\n"} {
		in := bufio.NewReader(w.raw(postHead(s.path, s.token, "Transfer-Encoding: chunked") + body))
		if r := w.readResponse(in, "POST").fails(413, codeTransport, "", "too big"); !r.closes {
			t.Errorf("%q: the connection is not announced to close", body)
		}
	}
}

// FuzzChunks: whatever is taken is what the standard library reads in the same
// bytes, and nothing behind it is touched.
func FuzzChunks(f *testing.F) {
	for _, seed := range []string{"0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\nrest", "3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n", "A\r\n0123456789\r\n00\r\n\r\n"} {
		f.Add([]byte(seed), 8)
	}
	f.Fuzz(func(t *testing.T, sent []byte, limit int) {
		limit &= 0xffff
		in := bufio.NewReaderSize(bytes.NewReader(sent), httphead.Max)
		got, err := io.ReadAll(&chunks{in: in, limit: limit})
		slow, slowErr := io.ReadAll(&chunks{in: bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader(sent)), httphead.Max), limit: limit})
		if !bytes.Equal(got, slow) || (err == nil) != (slowErr == nil) {
			t.Fatalf("%q %v, byte by byte %q %v", got, err, slow, slowErr)
		}
		if len(got) > limit {
			t.Fatalf("%d bytes over the limit", len(got)-limit)
		}
		if err != nil {
			return
		}
		want, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(sent)))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("read %q of %q, others read %q %v", got, sent, want, err)
		}
		if rest, err := io.ReadAll(in); err != nil || !bytes.HasSuffix(sent, rest) || !bytes.HasSuffix(sent[:len(sent)-len(rest)], []byte("\r\n\r\n")) && len(got) > 0 {
			t.Fatalf("left %q of %q", rest, sent)
		}
	})
}
