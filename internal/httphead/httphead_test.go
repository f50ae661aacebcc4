package httphead

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/valyala/fasthttp"
)

const lines = "GET /requests?x HTTP/1.1\r\nHost: gateway\r\nUpgrade: websocket\r\n"

func TestAHeadIsReadToItsEndAndNoFurther(t *testing.T) {
	const behind = "\x82\x80abcd"
	for name, from := range map[string]io.Reader{
		"whole":        strings.NewReader(lines + "\r\n" + behind),
		"byte by byte": iotest.OneByteReader(strings.NewReader(lines + "\r\n" + behind)),
	} {
		in := TakeReader(from)
		var header fasthttp.RequestHeader
		if err := Read(in, &header); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if string(header.RequestURI()) != "/requests?x" || string(header.Peek("upgrade")) != "websocket" || header.ContentLength() != NoBody {
			t.Errorf("%s: %q", name, header.Header())
		}
		if rest, err := io.ReadAll(in); string(rest) != behind || err != nil {
			t.Errorf("%s: left %q %v", name, rest, err)
		}
		GiveBack(in)
	}
}

// stuck is a reader that must not be read again.
type stuck struct{ t *testing.T }

func (s stuck) Read([]byte) (int, error) {
	s.t.Error("it waits for more than the head")
	return 0, io.EOF
}

func TestALineThatEndsOtherwiseIsRefusedAtOnce(t *testing.T) {
	for _, head := range []string{"\n", "GET / HTTP/1.1\n", lines + "A: b\n", lines + "\n", strings.ReplaceAll(lines, "\r\n", "\n") + "\n"} {
		in := TakeReader(io.MultiReader(strings.NewReader(head), stuck{t}))
		var header fasthttp.RequestHeader
		if err := Read(in, &header); err == nil || Cause(err) != errBareLineFeed.Error() {
			t.Errorf("%q: %v", head, err)
		}
		GiveBack(in)
	}
}

func TestWhatIsNoHeadIsNamed(t *testing.T) {
	for head, want := range map[string]error{
		"":                       io.EOF,
		lines:                    io.EOF,
		strings.Repeat("x", Max): ErrTooBig,
		lines + strings.Repeat("A: b\r\n", Max/6):              ErrTooBig,
		lines + "Transfer-Encoding: identity\r\n\r\n":          errCoding,
		lines + "transfer-encoding: identity\r\n\r\n":          errCoding,
		lines + "Transfer-Encoding: gzip, chunked\r\n\r\n":     nil,
		"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n": nil,
		lines + "Host: other\r\n\r\n":                          nil,
		lines + "Content-Length: x\r\n\r\n":                    nil,
		lines + "no colon\r\n\r\n":                             nil,
		"hello\r\n\r\n":                                        nil,
	} {
		in := TakeReader(strings.NewReader(head))
		var header fasthttp.RequestHeader
		if err := Read(in, &header); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%.80q: %v, wanted %v", head, err, want)
		}
		GiveBack(in)
	}
}

func TestACauseQuotesNothing(t *testing.T) {
	in := TakeReader(strings.NewReader(lines + "Authorization secret\r\n\r\n"))
	defer GiveBack(in)
	var header fasthttp.RequestHeader
	err := Read(in, &header)
	if err == nil {
		t.Fatal("taken")
	}
	if cause := Cause(err); cause == "" || strings.Contains(cause, "secret") || strings.ContainsAny(cause, "\"\r\n") {
		t.Errorf("%q of %v", cause, err)
	}
}

// FuzzRead: whatever is taken ends each of its lines as HTTP has it, says one
// thing of a body, and nothing behind it is touched.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", "\r\n\r\n", lines + "\r\nrest", lines + "A: b\n\r\n", lines + "Content-Length: 3\r\n\r\nabc", lines + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		in := bufio.NewReaderSize(bytes.NewReader(sent), Max)
		var header fasthttp.RequestHeader
		if Read(in, &header) != nil {
			return
		}
		rest, err := io.ReadAll(in)
		if err != nil || !bytes.HasSuffix(sent, rest) {
			t.Fatalf("left %q %v of %q", rest, err, sent)
		}
		head := sent[:len(sent)-len(rest)]
		if len(head) > Max || !bytes.HasSuffix(head, []byte("\r\n\r\n")) || bytes.Count(head, []byte("\n")) != bytes.Count(head, []byte("\r\n")) {
			t.Fatalf("took %q", head)
		}
		if n := header.ContentLength(); n < NoBody || n == NoBody && hasField(header.RawHeaders(), "content-length") {
			t.Fatalf("a body of %d in %q", n, head)
		}
	})
}
