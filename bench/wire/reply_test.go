package wire

import (
	"strings"
	"testing"
)

// feed gives a response in pieces of that size, as a Far does.
func feed(t *testing.T, r *Reply, response string, size int) (rest string) {
	t.Helper()
	var have string
	for i := 0; i < len(response); i += size {
		have += response[i:min(i+size, len(response))]
		done, whole, err := r.Feed([]byte(have))
		if err != nil {
			t.Fatalf("in pieces of %d: %v", size, err)
		}
		have = have[done:]
		if whole {
			return have + response[min(i+size, len(response)):]
		}
	}
	t.Fatalf("in pieces of %d it never was whole; left is %.60q", size, have)
	return ""
}

func TestARepliesEndIsFoundHoweverItArrives(t *testing.T) {
	long := strings.Repeat("x", 3*Lead)
	for name, response := range map[string]string{
		"a length":      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"no body":       "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n",
		"no length":     "HTTP/1.1 204 No Content\r\n\r\n",
		"chunks":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
		"more than fit": "HTTP/1.1 200 OK\r\nContent-Length: 12288\r\n\r\n" + long,
	} {
		for _, size := range []int{1, 7, 100, 1 << 20} {
			r := Reply{OK: true}
			if rest := feed(t, &r, response+"next", size); rest != "next" {
				t.Errorf("%s, in pieces of %d: left is %.60q", name, size, rest)
			}
		}
	}
}

func TestAReplyWithoutWhatIsWantedIsAnError(t *testing.T) {
	r := Reply{Want: []byte(`"id":7`), OK: true}
	if _, _, err := r.Feed([]byte("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{\"id\":8}")); err == nil {
		t.Error("another id was taken")
	}
	if _, _, err := r.Feed([]byte("HTTP/1.1 404 Not Found\r\nContent-Length: 8\r\n\r\n{\"id\":7}")); err == nil {
		t.Error("another status was taken")
	}
}

func TestHeaderAndStatus(t *testing.T) {
	response := []byte("HTTP/1.1 201 Created\r\nMcp-Session-Id:  abc \r\n\r\nMcp-Session-Id: body")
	if Status(response) != 201 || Header(response, "mcp-session-id") != "abc" || Header(response, "x") != "" {
		t.Errorf("status %d, session %q", Status(response), Header(response, "mcp-session-id"))
	}
}
