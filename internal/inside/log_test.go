package inside

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// lines are the log's, those of a message.
func (l *lockedBuffer) lines(t *testing.T, message string) (found []map[string]any) {
	t.Helper()
	for _, line := range bytes.Split(bytes.TrimSpace(l.bytes()), []byte("\n")) {
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if fields["msg"] == message {
			delete(fields, "time")
			delete(fields, "msg")
			found = append(found, fields)
		}
	}
	return found
}

func TestLogOfRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		send func(w *world, s *mcpSession)
		want string
	}{
		"version": {func(w *world, s *mcpSession) { s.send(pingBody, with("MCP-Protocol-Version", "1999-01-01")) },
			`{"level":"DEBUG","listener":"inside","method":"POST","path":"/containers/c1/mcp","reason":"protocol-version","status":400,"version":"1999-01-01"}`},
		"path": {func(w *world, s *mcpSession) {
			do(w.t, s.http, w.post("/nowhere?token=secret", "", with("Mcp-Session-Id", s.token)))
		}, `{"level":"DEBUG","listener":"inside","method":"POST","path":"/nowhere","reason":"unknown-path","status":404}`},
		"method": {func(w *world, s *mcpSession) { do(w.t, s.http, s.request("", method("PUT"))) },
			`{"level":"DEBUG","listener":"inside","method":"PUT","path":"/containers/c1/mcp","reason":"method","status":405}`},
		"head": {func(w *world, s *mcpSession) {
			conn := w.raw(strings.Replace(postHead(s.path, s.token), "Mcp-Session-Id:", "Mcp Session\x00Id", 1))
			w.observed.await(w.t, "refused inside malformed", 1)
			_ = conn.Close()
		}, `{"cause":"malformed mime header: missing colon","level":"DEBUG","listener":"inside","reason":"malformed","status":400}`},
		"batch": {func(w *world, s *mcpSession) { s.send(`["secret"]`) },
			`{"cause":"it is a batch, which 2025-11-25 does not have; send its messages one by one","level":"DEBUG","listener":"inside","method":"POST","path":"/containers/c1/mcp","reason":"not-a-message","status":400}`},
	} {
		t.Run(name, func(t *testing.T) {
			var log lockedBuffer
			w := newWorld(t, func(o *options) { o.logger = jsonLogger(&log) })
			s := w.connect("c1")
			c.send(w, s)
			w.stop()
			found := log.lines(t, "refused")
			if len(found) != 1 {
				t.Fatalf("%d lines: %s", len(found), log.bytes())
			}
			if peer, _ := found[0]["peer"].(string); !strings.HasPrefix(peer, "127.0.0.1:") {
				t.Errorf("the peer is %q", peer)
			}
			delete(found[0], "peer")
			if got, err := json.Marshal(found[0]); err != nil || string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			log.tellsNo(t, s.token, "secret")
		})
	}
}

// tellsNo fails if a secret is in the log.
func (l *lockedBuffer) tellsNo(t *testing.T, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if bytes.Contains(l.bytes(), []byte(secret)) {
			t.Errorf("%q is in the log: %s", secret, l.bytes())
		}
	}
}

// TestLogOfMalformedHeadsQuotesNothing spoils each byte of a head, so that each
// of the parser's complaints comes about.
func TestLogOfMalformedHeadsQuotesNothing(t *testing.T) {
	var log lockedBuffer
	w := newWorld(t, func(o *options) { o.logger = jsonLogger(&log) })
	const secret = "a-secret-session"
	head := postHead("/mcp", secret, "Content-Length: 0")
	for i := range len(head) {
		for _, b := range []string{"\x00", " ", ":", "\"", "x"} {
			x := head[:i] + b + head[i+1:]
			conn := w.raw(x)
			halfClose(t, conn)
			_ = readAll(t, conn)
			_ = conn.Close()
		}
	}
	w.stop()
	for i := range len(secret) - 8 {
		log.tellsNo(t, secret[i:i+8])
	}
}

func TestLogOfExchanges(t *testing.T) {
	var log lockedBuffer
	w := newWorld(t, func(o *options) { o.logger = jsonLogger(&log) })
	s, p := w.connect("c1"), w.provide("c1")
	reply := s.start(strings.Replace(callBody, `"name":"t"`, `"name":"secret"`, 1))
	p.result(p.next(), `{"content":["secret"]}`)
	reply.wait(200)
	reply = s.start(callBody)
	p.next()
	s.send(cancelBody(`1`)).is(http.StatusAccepted, "")
	reply.wait(200)
	w.stop()
	var got []string
	for _, line := range log.lines(t, "exchange") {
		if d, ok := line["duration"].(float64); !ok || d <= 0 {
			t.Errorf("the duration is %v", line["duration"])
		}
		got = append(got, fmt.Sprint(line["level"], " ", line["listener"], " ", line["container"], " ", line["kind"], " ", line["outcome"]))
	}
	want := "DEBUG inside c1 call-tool answered, DEBUG inside c1 call-tool cancelled"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	log.tellsNo(t, s.token, "secret")
}
