package gateway

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// TestN7_ProgressThatWasSentFirstComesFirst has a server send progress on one
// socket and then at once the answer on another, for several containers at a time.
func TestN7_ProgressThatWasSentFirstComesFirst(t *testing.T) {
	const containers, calls, events = 4, 50, 20
	config := onFreePorts()
	config.Ping = time.Hour // the servers here read nothing but a Close
	g := start(t, config)
	defer closeNow(t, g)
	t.Run("containers", func(t *testing.T) {
		for c := range containers {
			t.Run(strconv.Itoa(c), func(t *testing.T) {
				t.Parallel()
				s := newPushing(t, g, fmt.Sprintf("c%d", c))
				for i := range calls {
					s.call(i, events)
				}
			})
		}
	})
	_, metrics := get(t, "http://"+g.OpsAddr().String()+"/metrics")
	for _, line := range []string{
		`gateway_notifications_unheard_total{reason="progress"} 0`,
		`gateway_notifications_unheard_total{reason="full"} 0`,
		fmt.Sprintf(`gateway_exchanges_total{kind="call-tool",outcome="answered"} %d`, containers*calls),
	} {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

// pushing is a container with a client and a server of its own.
type pushing struct {
	t            *testing.T
	outside      string
	prefix       string
	url, session string
	requests     *wstest.Peer
	pushes       *wstest.Peer // nil until it was asked for
}

func newPushing(t *testing.T, g *Gateway, container string) *pushing {
	t.Helper()
	s := &pushing{t: t, outside: g.OutsideAddr().String(), prefix: "/containers/" + container}
	s.url = "http://" + g.InsideAddr().String() + s.prefix + "/mcp"
	response, body, err := request(t.Context(), http.MethodPost, s.url, "", initialize)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("initialize: %v %q %v", response, body, err)
	}
	s.session = response.Header.Get("Mcp-Session-Id")
	s.requests = wstest.Dial(t, s.outside, s.prefix+"/requests")
	return s
}

// call makes one call with progress.
func (s *pushing) call(n, events int) {
	type answer struct {
		body string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		_, body, err := request(s.t.Context(), http.MethodPost, s.url, s.session,
			fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":1}}}`, n))
		answered <- answer{body, err}
	}()
	channel, payload := s.ask()
	if s.pushes == nil {
		pushes, _ := s.ask()
		s.pushes = wstest.Dial(s.t, s.outside, s.prefix+"/mcp/notifications/"+pushes)
	}
	_, after, _ := strings.Cut(payload, `"progressToken":`)
	token := after[:strings.IndexByte(after, '}')]
	path := wstest.Dial(s.t, s.outside, s.prefix+"/mcp/call-tool/"+channel)
	want := ""
	for i := range events {
		progress := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":` + strconv.Itoa(i) + `}}`
		s.pushes.Binary(fmt.Appendf(nil, "\x00"+progress, token))
		want += fmt.Sprintf("event: message\ndata: "+progress+"\n\n", "1")
	}
	path.BinaryAndClose([]byte("\x00" + `{"content":[]}`))
	path.ReadClose()
	want += fmt.Sprintf("event: message\ndata: "+`{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`+"\n\n", n)
	if a := <-answered; a.err != nil || a.body != want {
		s.t.Errorf("call %d of %s: got %d bytes, want %d: %v", n, s.prefix, len(a.body), len(want), a.err)
	}
}

func (s *pushing) ask() (channel, payload string) {
	ask := s.requests.ReadBinary()
	return strconv.FormatUint(uint64(binary.BigEndian.Uint32(ask)), 10), string(ask[5:])
}
