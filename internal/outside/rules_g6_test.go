package outside

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"weak"

	"github.com/diverge-network/gateway/pkg/codec"
)

// list is the other end of a GET /containers.
type list struct {
	t       testing.TB
	conn    net.Conn
	lines   *bufio.Reader
	present map[string]bool
}

const listRequest = "GET /containers HTTP/1.1\r\nHost: gateway\r\n\r\n"

// follow asks for the list and reads up to the end of its snapshot.
func (w *world) follow() *list {
	w.t.Helper()
	l := w.list(w.plain(), listRequest)
	l.snapshot()
	return l
}

// list asks for the list on a connection and reads the head of the response.
func (w *world) list(c net.Conn, request string) *list {
	w.t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		w.t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/x-ndjson" || !response.Close || response.ContentLength != -1 {
		w.t.Fatalf("%d with the headers %v", response.StatusCode, response.Header)
	}
	return &list{t: w.t, conn: c, lines: bufio.NewReader(response.Body), present: map[string]bool{}}
}

// change is one line of the list.
type change struct {
	Came, Went string
	Complete   *int
}

func (l *list) read() (c change, err error) {
	line, err := l.lines.ReadBytes('\n')
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(line, &c); err != nil {
		return c, fmt.Errorf("%q: %w", line, err)
	}
	switch {
	case c.Came != "" && l.present[c.Came]:
		return c, fmt.Errorf("%s came, and was there", c.Came)
	case c.Went != "" && !l.present[c.Went]:
		return c, fmt.Errorf("%s went, and was not there", c.Went)
	case c.Came != "":
		l.present[c.Came] = true
	case c.Went != "":
		delete(l.present, c.Went)
	}
	return c, nil
}

func (l *list) next() change {
	l.t.Helper()
	c, err := l.read()
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

func (l *list) snapshot() {
	l.t.Helper()
	for {
		if c := l.next(); c.Complete != nil {
			if *c.Complete != len(l.present) {
				l.t.Fatalf("complete with %d, after %d", *c.Complete, len(l.present))
			}
			return
		}
	}
}

// says reads one line, without what is in it for later versions.
func (l *list) says(want string) {
	l.t.Helper()
	line, err := l.lines.ReadString('\n')
	if err != nil || line != want+"\n" {
		l.t.Fatalf("%q %v, wanted %s", line, err, want)
	}
}

func TestG6_TheListIsASnapshotAndThenEachChange(t *testing.T) {
	w := begin(t)
	there(w.mux.Enter("a.1")).Exit()
	there(w.mux.Container("never-entered"))
	b := there(w.mux.Enter("b"))
	l := w.list(w.plain(), listRequest)
	both := []string{}
	for range 2 {
		both = append(both, l.next().Came)
	}
	if slices.Sort(both); !slices.Equal(both, []string{"a.1", "b"}) {
		t.Fatalf("the snapshot has %q", both)
	}
	l.says(`{"complete":2}`)
	long := strings.Repeat("z", 128)
	there(w.mux.Enter(long))
	l.says(`{"came":"` + long + `"}`)
	w.idle()
	l.says(`{"went":"a.1"}`)
	b.Exit()
	w.idle()
	l.says(`{"went":"b"}`)
	there(w.mux.Enter("b")).Exit()
	l.says(`{"came":"b"}`)

	empty := w.list(w.plain(), "GET http://gateway/containers?from=1 HTTP/1.1\r\nHost: gateway\r\nUpgrade: websocket\r\n\r\n")
	empty.snapshot()
	if n := w.counts.openNow(ContainersLabel); n != 2 {
		t.Errorf("%d lists are open", n)
	}
}

func TestG6_TheListOfNoContainersIsComplete(t *testing.T) {
	w := begin(t)
	l := w.list(w.plain(), "GET /containers HTTP/1.0\r\n\r\n")
	l.says(`{"complete":0}`)
	there(w.mux.Enter("first")).Exit()
	l.says(`{"came":"first"}`)
}

func TestG6_AServerServesWhatComesAndLetsGoOfWhatWent(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		l := w.follow()
		c := there(w.mux.Enter("c1"))
		call := w.ask("c1", codec.CallTool, toolAsk)
		p := w.provider(l.next().Came)
		p.answer(p.call(), result(toolAnswer))
		call.answered(toolAnswer)
		c.Exit()
		w.idle()
		if c := l.next(); c.Went != "c1" {
			t.Fatalf("%+v", c)
		}
		if w.mux.Lookup("c1") == nil {
			t.Fatal("forgotten while its server is connected")
		}
		p.hangUp()
		eventually(t, "the connection's end is seen", func() bool { return w.mux.Stats().Connected == 0 })
		w.idle()
		if w.mux.Lookup("c1") != nil {
			t.Fatal("not forgotten")
		}
	})
}

func (w *world) followers() (all []*follower) {
	open, _ := w.handler.roster.all()
	for _, m := range open {
		if f, ok := m.socket.(*follower); ok {
			all = append(all, f)
		}
	}
	return all
}

func TestG6_EverySecondBeatOfAQuietListIsHeard(t *testing.T) {
	w := begin(t)
	l := w.follow()
	there(w.mux.Enter("first")).Exit() // and so after the snapshot
	l.says(`{"came":"first"}`)
	f := w.followers()[0]
	beat := func() { f.Beat(time.Time{}) }
	beat() // not quiet
	beat()
	beat()
	beat()
	l.says("{}")
	l.says("{}")
	beat() // not heard: the one before was
	there(w.mux.Enter("a")).Exit()
	beat() // not quiet
	there(w.mux.Enter("b")).Exit()
	beat() // nor now
	beat()
	l.says(`{"came":"a"}`)
	l.says(`{"came":"b"}`)
	l.says("{}")
}

func TestG6_AQuietListIsKeptAlive(t *testing.T) {
	w := begin(t, withPing(10*time.Millisecond))
	l := w.follow()
	l.says("{}")
	l.says("{}")
}

func TestG6_AFollowerThatLeavesIsLetGo(t *testing.T) {
	w := begin(t)
	for i, leave := range []func(net.Conn) error{
		net.Conn.Close,
		func(c net.Conn) error { return c.(*net.TCPConn).CloseWrite() },
		func(c net.Conn) error { reset(t, c); return nil },
	} {
		l := w.follow()
		let := weak.Make(w.followers()[0])
		if _, err := io.WriteString(l.conn, "what a follower says does not count\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if err := leave(l.conn); err != nil {
			t.Fatal(err)
		}
		w.eventuallyClosed(ContainersLabel)
		eventually(t, fmt.Sprintf("nothing keeps follower %d", i), func() bool { runtime.GC(); return let.Value() == nil })
	}
	there(w.mux.Enter("a")).Exit() // nobody is told
	l := w.follow()
	if !l.present["a"] {
		t.Fatal("not in the snapshot")
	}
}

// narrow is a connection on which little is on its way at a time.
func (w *world) narrow() net.Conn {
	w.t.Helper()
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	}}
	c, err := d.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// TestG6_AFollowerThatDoesNotReadIsClosedAndComesBack has it miss more than may
// wait for it: neither it nor anybody else is held up by that.
func TestG6_AFollowerThatDoesNotReadIsClosedAndComesBack(t *testing.T) {
	w := begin(t, withUnread(64))
	slow := w.list(w.narrow(), listRequest)
	slow.snapshot()
	reads := w.follow()
	id := strings.Repeat("x", 100)
	n := 0
	for ; w.counts.openNow(ContainersLabel) == 2; n++ {
		if n == 1_000_000 {
			t.Fatal("the follower was never closed")
		}
		there(w.mux.Enter(id + strconv.Itoa(n))).Exit()
		if c := reads.next(); c.Came != id+strconv.Itoa(n) {
			t.Fatalf("the other follower heard %+v", c)
		}
	}
	eventually(t, "the closing is logged", func() bool { return w.log.count("reason=full") == 1 })
	heard := 0
	for {
		if _, err := slow.read(); err != nil {
			break
		}
		heard++
	}
	if heard >= n {
		t.Fatalf("it missed nothing of %d changes", n)
	}
	if back := w.follow(); len(back.present) != n {
		t.Fatalf("%d containers in the snapshot, wanted %d", len(back.present), n)
	}
}

// TestG6_ASnapshotOfAnySizeFits has a follower that reads nothing at first and
// may miss little get a snapshot of megabytes.
func TestG6_ASnapshotOfAnySizeFits(t *testing.T) {
	w := begin(t, withUnread(1))
	id := strings.Repeat("x", 120)
	const containers = 50_000
	for n := range containers {
		there(w.mux.Enter(id + strconv.Itoa(n))).Exit()
	}
	l := w.list(w.plain(), listRequest)
	there(w.mux.Enter("one more")).Exit()
	l.snapshot()
	l.says(`{"came":"one more"}`)
	if len(l.present) != containers {
		t.Fatalf("%d containers, wanted %d", len(l.present), containers)
	}
}

// TestG6_FollowersAgreeWithTheContainersUnderChurn begins lists while containers
// come and go: each hears of every one, none twice.
func TestG6_FollowersAgreeWithTheContainersUnderChurn(t *testing.T) {
	w := begin(t)
	done := make(chan struct{})
	var churn, followers sync.WaitGroup
	for g := range 4 {
		churn.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				there(w.mux.Enter(fmt.Sprint("c", g, "-", i%50))).Exit()
				if i%25 == 0 {
					w.idle()
				}
				runtime.Gosched()
			}
		})
	}
	late := make(chan *list, 8)
	for range 8 {
		followers.Go(func() {
			l := w.list(w.plain(), listRequest)
			for complete, changes := false, 0; !complete || changes < 200; {
				c, err := l.read()
				if err != nil {
					t.Error(err)
					return
				}
				complete = complete || c.Complete != nil
				if complete {
					changes++
				}
			}
			late <- l
		})
	}
	followers.Wait()
	close(done)
	churn.Wait()
	close(late)
	w.idle()
	there(w.mux.Enter("the-last"))
	for l := range late {
		for c := l.next(); c.Came != "the-last"; {
			c = l.next()
		}
		if len(l.present) != 1 {
			t.Errorf("a follower takes %d containers to be present, wanted 1", len(l.present))
		}
	}
}

func TestG6_ShutdownEndsTheList(t *testing.T) {
	w := begin(t)
	id := strings.Repeat("x", 120)
	for n := range 50_000 {
		there(w.mux.Enter(id + strconv.Itoa(n))).Exit()
	}
	reads := w.follow()
	w.list(w.narrow(), listRequest) // reads no more, and has megabytes to come
	eventually(t, "the other list began", func() bool { return w.counts.openNow(ContainersLabel) == 2 })
	w.shutdown()
	if c, err := reads.read(); !errors.Is(err, io.EOF) {
		t.Errorf("%+v %v, wanted the end", c, err)
	}
	if n := w.counts.openNow(ContainersLabel); n != 0 {
		t.Errorf("%d lists are open", n)
	}
	there(w.mux.Enter("a")).Exit() // nobody is told
}

func TestG6_AListThatIsAskedForDuringShutdownEnds(t *testing.T) {
	for range 20 {
		w := begin(t)
		c := w.plain()
		if _, err := io.WriteString(c, listRequest); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if err := w.handler.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		if _, err := io.Copy(io.Discard, c); errors.Is(err, context.DeadlineExceeded) {
			t.Fatal("the list did not end")
		}
	}
}
