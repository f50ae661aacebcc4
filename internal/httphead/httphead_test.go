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

// TestWhatTwoPartiesMayReadDifferentlyIsNoHead has the shapes by which requests
// are smuggled past somebody in front, and what no client sends by accident.
func TestWhatTwoPartiesMayReadDifferentlyIsNoHead(t *testing.T) {
	for head, want := range map[string]error{
		"":                       io.EOF,
		lines:                    io.EOF,
		strings.Repeat("x", Max): ErrTooBig,
		lines + strings.Repeat("A: b\r\n", Max/6):                         ErrTooBig,
		lines + strings.Repeat("A:\r\n", MaxLines-1) + "\r\n":             ErrTooBig,
		lines + "Transfer-Encoding: identity\r\n\r\n":                     errCoding,
		lines + "transfer-encoding: identity\r\n\r\n":                     errCoding,
		lines + "Transfer-Encoding: gzip, chunked\r\n\r\n":                nil,
		lines + "Transfer-Encoding: \x0bchunked\r\n\r\n":                  nil,
		lines + "Transfer-Encoding : chunked\r\n\r\n":                     nil,
		lines + "Transfer Encoding: chunked\r\n\r\n":                      errName,
		lines + "Transfer\tEncoding: chunked\r\n\r\n":                     nil,
		lines + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n": errTwoLengths,
		lines + "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n": errTwoLengths,
		"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n":            nil,
		lines + "Content-Length: x\r\n\r\n":                               nil,
		lines + "Content-Length: +3\r\n\r\n":                              nil,
		lines + "Content-Length: -3\r\n\r\n":                              nil,
		lines + "Content-Length: 0x3\r\n\r\n":                             nil,
		lines + "Content-Length: 3, 3\r\n\r\n":                            nil,
		lines + "Content-Length:\r\n\r\n":                                 nil,
		lines + "Content-Length: 3\r\nContent-Length: 3\r\n\r\n":          nil,
		lines + "Content-Length: 99999999999999999999\r\n\r\n":            nil,
		lines + "A: b\r\n c\r\n\r\n":                                      errFolded,
		lines + "A: b\r\n\tc\r\n\r\n":                                     errFolded,
		lines + " \r\n\r\n":                                               errFolded,
		"GET / HTTP/1.1\r\n A: b\r\nHost: g\r\n\r\n":                      errFolded,
		lines + "Host: other\r\n\r\n":                                     nil,
		"GET / HTTP/1.1\r\n\r\n":                                          nil,
		"GET / HTTP/1.1\r\nHost:\r\n\r\n":                                 nil,
		"GET / HTTP/1.1\r\nHost: a b\r\n\r\n":                             errHost,
		"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n":                             errHost,
		"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n":                             errHost,
		"GET / HTTP/1.1\r\nHost: \xff\r\n\r\n":                            errHost,
		lines + "no colon\r\n\r\n":                                        nil,
		lines + ": no name\r\n\r\n":                                       nil,
		lines + "A b: c\r\n\r\n":                                          errName,
		lines + "A(b): c\r\n\r\n":                                         nil,
		lines + "A\x00: c\r\n\r\n":                                        nil,
		lines + "A: \x00\r\n\r\n":                                         nil,
		lines + "A: b\rc\r\n\r\n":                                         nil,
		lines + "A: b\r\r\n\r\n":                                          nil,
		lines + "A: \x7f\r\n\r\n":                                         nil,
		"GET / HTTP/1.2\r\nHost: g\r\n\r\n":                               errVersion,
		"GET / HTTP/2.0\r\nHost: g\r\n\r\n":                               errVersion,
		"GET / HTTP/0.9\r\nHost: g\r\n\r\n":                               errVersion,
		"GET / http/1.1\r\nHost: g\r\n\r\n":                               nil,
		"GET / HTTP/1.1 \r\nHost: g\r\n\r\n":                              nil,
		"GET /\r\n\r\n":                                                   nil,
		"GET  / HTTP/1.1\r\nHost: g\r\n\r\n":                              nil,
		"GET\t/\tHTTP/1.1\r\nHost: g\r\n\r\n":                             nil,
		"GET /\x00 HTTP/1.1\r\nHost: g\r\n\r\n":                           nil,
		"GET * HTTP/1.1\r\nHost: g\r\n\r\n":                               nil,
		"GET g HTTP/1.1\r\nHost: g\r\n\r\n":                               nil,
		"G{T / HTTP/1.1\r\nHost: g\r\n\r\n":                               nil,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                nil,
		"\r\n\r\n":                                                        errFirst,
		"hello\r\n\r\n":                                                   nil,
	} {
		in := TakeReader(strings.NewReader(head))
		var header fasthttp.RequestHeader
		err := Read(in, &header)
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%.80q: %v, wanted %v", head, err, want)
		}
		if err != nil && strings.Contains(Cause(err), "fasthttp") {
			t.Errorf("%.80q: %q names what parses it", head, Cause(err))
		}
		if header.Len() != 0 || len(header.Host()) != 0 {
			t.Errorf("%.80q: left %q", head, header.Header())
		}
		GiveBack(in)
	}
}

func TestWhatIsWrittenInManyWaysIsAHead(t *testing.T) {
	for _, head := range []string{
		"GET / HTTP/1.0\r\n\r\n",
		"GET / HTTP/1.1\r\nHOST: [::1]:80\r\n\r\n",
		"GET / HTTP/1.1\r\nhost:my_host.example:80\r\n\r\n",
		"GET http://h/?%00 HTTP/1.1\r\nHost: g\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: g\r\n\r\n",
		lines + "A: \xff\t b\r\n\r\n",
		lines + "A:\r\nA:b\r\n\r\n",
		lines + "Content-Length: 007\r\n\r\n",
		lines + strings.Repeat("A:\r\n", MaxLines-2) + "\r\n",
	} {
		in := TakeReader(strings.NewReader(head))
		var header fasthttp.RequestHeader
		if err := Read(in, &header); err != nil {
			t.Errorf("%.80q: %v", head, err)
		}
		GiveBack(in)
	}
}

// TestWhatIsNoHeadIsNotWaitedFor ends what will never be one without the rest of
// it, which may be long in coming.
func TestWhatIsNoHeadIsNotWaitedFor(t *testing.T) {
	for head, want := range map[string]error{
		"\x16\x03\x01":       errTLS,
		"SSH-2.0-x\r\n":      errVersion,
		"PRI * HTTP/2.0\r\n": errVersion,
		"GET /\r\n":          errVersion,
		"\x00":               errFirst,
		" ":                  errFirst,
		"\x80":               errFirst,
		lines + "A: b\r\n ":  errFolded,
		lines + strings.Repeat("A:\r\n", MaxLines-1) + "A": ErrTooBig,
	} {
		for name, from := range map[string]io.Reader{
			"at once": strings.NewReader(head), "byte by byte": iotest.OneByteReader(strings.NewReader(head)),
		} {
			in := TakeReader(io.MultiReader(from, stuck{t}))
			var header fasthttp.RequestHeader
			if err := Read(in, &header); !errors.Is(err, want) {
				t.Errorf("%.80q %s: %v, wanted %v", head, name, err, want)
			}
			GiveBack(in)
		}
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
	for _, seed := range []string{
		"", "\r\n\r\n", lines + "\r\nrest", lines + "A: b\n\r\n", lines + "Content-Length: 3\r\n\r\nabc",
		lines + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", lines + "A: b\r\n c\r\n\r\n", lines + "A b: c\r\n\r\n",
		lines + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
	} {
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
		lengths := 0
		for line := range bytes.Lines(header.RawHeaders()) {
			name, _, named := bytes.Cut(line, []byte(":"))
			if !named && len(bytes.TrimSpace(line)) > 0 || bytes.ContainsAny(name, " \t") && named {
				t.Fatalf("took the line %q", line)
			}
			if is(name, "content-length") || is(name, "transfer-encoding") {
				lengths++
			}
		}
		if n := header.ContentLength(); n < NoBody || lengths > 1 || (n == NoBody) != (lengths == 0) {
			t.Fatalf("a body of %d in %q", n, head)
		}
	})
}
