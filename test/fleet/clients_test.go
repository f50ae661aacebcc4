package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// play has two containers' clients come, hear number 2, and leave, and returns their last report. The server is what they
// speak to, without a gateway between.
func play(t *testing.T, twist func(http.Handler) http.Handler) report {
	t.Helper()
	u, err := startUpstream(time.Millisecond, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := u.close(); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(twist(u))
	t.Cleanup(server.Close)

	in, orders := io.Pipe()
	reports, out := io.Pipe()
	exit := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		exit <- beClients([]string{"--inside", server.URL, "--containers", "2", "--rate", "100"}, in, out, &errs)
		_ = out.Close()
	}()
	var last report
	told := false
	deadline := time.AfterFunc(30*time.Second, func() { _ = orders.Close() })
	defer deadline.Stop()
	for d := json.NewDecoder(reports); ; {
		var r report
		if d.Decode(&r) != nil {
			break
		}
		if last = r; !told && (r.Up == 2 && r.Calls > 10 || r.Wrong > 0) {
			told = true
			go func() {
				_, _ = io.WriteString(orders, tellFinish+"\n"+tellHeard+" 2\n")
				_ = orders.Close()
			}()
		}
	}
	if code := <-exit; code != exitOK || errs.Len() > 0 {
		t.Errorf("exit status %d: %s", code, errs.String())
	}
	return last
}

func straight(h http.Handler) http.Handler { return h }

func TestClientsFindNothingWrongWithAServerThatIsRight(t *testing.T) {
	r := play(t, straight)
	if r.Up != 2 || r.Streams != 2 || r.Calls <= 10 || r.Wrong+r.Hung+r.Faults+r.Deaf != 0 || r.Notifications == 0 || r.Steady.Count == 0 {
		t.Errorf("%+v", r)
	}
}

func TestClientsFindAnAnswerThatIsNotTheirs(t *testing.T) {
	for name, other := range map[string]func(string) string{
		"another's words": func(s string) string { return strings.Replace(s, `"text":"c1 `, `"text":"c2 `, 1) },
		"another's id":    func(s string) string { return strings.Replace(s, `"id":1,`, `"id":7,`, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			r := play(t, func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
					if q.Method != http.MethodPost {
						h.ServeHTTP(w, q)
						return
					}
					record := httptest.NewRecorder()
					h.ServeHTTP(record, q)
					for name, values := range record.Header() {
						w.Header()[name] = values
					}
					w.WriteHeader(record.Code)
					_, _ = io.WriteString(w, other(record.Body.String()))
				})
			})
			if r.Wrong == 0 || r.Faults == 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}
