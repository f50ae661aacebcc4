package gateway

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/inside"
	"github.com/diverge-network/gateway/internal/limit"
	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// TestWhateverBecomesOfExchangesNothingIsHeldBehindThem runs random schedules of
// exchanges of many sizes over real sockets, against limits that are too low for
// them: clients leave, cancel and are slow, servers answer, half answer, break off
// and come back. At the end every count is 0, and no limit was ever exceeded but by
// what waits on /requests.
func TestWhateverBecomesOfExchangesNothingIsHeldBehindThem(t *testing.T) {
	const containers, clients, calls = 4, 4, 25
	c := onFreePorts()
	c.MaxMessage = 512 << 10
	c.Held = Held{PerContainer: 1 << 20, Total: 2 << 20}
	c.ReaskAfter = time.Millisecond
	c.SSEAfter = 5 * time.Millisecond
	g := start(t, c)
	ctx, stop := context.WithCancel(t.Context())
	var servers, callers sync.WaitGroup
	var outcomes [600]atomic.Int64
	for n := range containers {
		id := fmt.Sprint("c", n)
		servers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 1))
			for ctx.Err() == nil {
				unruly{g.OutsideAddr().String(), "/containers/" + id, r}.serve(ctx)
			}
		})
		url := "http://" + g.InsideAddr().String() + "/containers/" + id + "/mcp"
		for k := range clients {
			callers.Go(func() {
				r := rand.New(rand.NewPCG(uint64(n), uint64(k)+2))
				session := ""
				for session == "" {
					response, _, err := request(ctx, http.MethodPost, url, "", initialize)
					if err != nil {
						t.Error(err)
						return
					}
					session = response.Header.Get("Mcp-Session-Id")
				}
				for i := range calls {
					patience := time.Duration(1+r.IntN(60)) * time.Millisecond
					if r.IntN(3) > 0 {
						patience = 20 * time.Second
					}
					limited, cancel := context.WithTimeout(ctx, patience)
					meta := ""
					if r.IntN(3) == 0 {
						meta = `"_meta":{"progressToken":1},`
					}
					response, body, err := request(limited, http.MethodPost, url, session, fmt.Sprintf(
						`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s"name":"t","arguments":{"x":%q}}}`, i, meta, strings.Repeat("x", r.IntN(400<<10))))
					cancel()
					switch {
					case err == nil:
						outcomes[response.StatusCode].Add(1)
						if strings.Contains(body, "no room") {
							outcomes[599].Add(1)
						}
					case patience > time.Second && errors.Is(err, context.DeadlineExceeded):
						t.Errorf("a call of %s was never answered", id)
					}
				}
			})
		}
	}
	callers.Wait()
	stop()
	servers.Wait()
	eventually(t, "nothing is held", func() bool { return g.holding.budget.Used() == 0 && g.holding.budget.Fullest() == 0 })
	closeNow(t, g)
	t.Logf("%d were answered, %d of them without room; %d refused for their container, %d for all",
		outcomes[200].Load(), outcomes[599].Load(), outcomes[429].Load(), outcomes[503].Load())
	if outcomes[200].Load() == 0 || outcomes[429].Load()+outcomes[503].Load()+outcomes[599].Load() == 0 {
		t.Error("that proves nothing")
	}
}

// unruly is a server that answers as it likes.
type unruly struct {
	outside, prefix string
	*rand.Rand
}

// serve serves one /requests connection, until that ends or the server has had
// enough of it.
func (u unruly) serve(ctx context.Context) {
	conn, err := u.dial(ctx, "/requests")
	if err != nil {
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	header := make([]byte, 4)
	for range 5 + u.IntN(20) {
		if _, err := io.ReadFull(conn, header[:2]); err != nil {
			return
		}
		size := int64(header[1])
		extra := map[int64]int{126: 2, 127: 8}[size]
		long := make([]byte, extra)
		if _, err := io.ReadFull(conn, long); err != nil {
			return
		}
		for i, b := range long {
			if size <<= 8; i == 0 {
				size = 0
			}
			size |= int64(b)
		}
		payload := make([]byte, size)
		if _, err := io.ReadFull(conn, payload); err != nil {
			return
		}
		if header[0] == 0x82 && len(payload) >= 5 && payload[4] == 2 {
			u.answer(ctx, binary.BigEndian.Uint32(payload))
		}
	}
}

func (u unruly) answer(ctx context.Context, channel uint32) {
	conn, err := u.dial(ctx, "/mcp/call-tool/"+strconv.FormatUint(uint64(channel), 10))
	if err != nil {
		return
	}
	defer conn.Close()
	text := fmt.Sprintf(`{"content":[],"x":%q}`, strings.Repeat("x", u.IntN(500<<10)))
	if u.IntN(3) == 0 {
		text = fmt.Sprintf(`{"structuredContent":{"x":%q}}`, strings.Repeat("x", u.IntN(200<<10)))
	}
	message := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: true, Payload: append([]byte{0}, text...)})
	end := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpClose, Masked: true})
	switch u.IntN(8) {
	case 0: // half of it
		_, _ = conn.Write(message[:len(message)/2])
		return
	case 1: // without a Close
		_, _ = conn.Write(message)
		return
	case 2: // not served
		message = nil
	}
	if _, err := conn.Write(append(message, end...)); err == nil {
		_, _ = io.Copy(io.Discard, conn)
	}
}

// dial opens one of the server's paths.
func (u unruly) dial(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", u.outside)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, err = io.WriteString(conn, "GET "+u.prefix+path+" HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n")
	status := ""
	for line, one := []byte(nil), make([]byte, 1); err == nil && string(line) != "\r\n"; line = append(line, one[0]) {
		if n := len(line); n > 0 && line[n-1] == '\n' {
			if status == "" {
				status = string(line)
			}
			line = line[:0]
		}
		_, err = io.ReadFull(conn, one)
	}
	if err == nil && !strings.Contains(status, " 101 ") {
		err = errors.New(status)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

func TestLimitsOfWhatIsHeldThatCannotBeMeantAreRefused(t *testing.T) {
	for _, test := range []struct {
		flag   string
		change func(*Config)
	}{
		{"--max-buffered", func(c *Config) { c.Held.PerContainer = 2*int64(c.MaxMessage) - 1 }},
		{"--max-buffered-total", func(c *Config) { c.Held.Total = -1 }},
		{"--max-connections-per-second", func(c *Config) { c.MaxConnectionsPerSecond = -1 }},
		{"--max-connections-per-second", func(c *Config) { c.MaxConnectionsPerSecond = maxConnectionRate + 1 }},
		{"--socket-stall", func(c *Config) { c.SocketStall = maxSocketStall + 1 }},
		{"--socket-stall", func(c *Config) { c.SocketStall = 0 }},
	} {
		c := Default()
		test.change(&c)
		var bad *ConfigError
		if err := c.Validate(); !errors.As(err, &bad) || bad.Flag != test.flag {
			t.Errorf("%s: %v", test.flag, err)
		}
	}
	c := Default()
	c.Held = Held{Available: 64 << 20} // which is found, and not asked for
	if err := c.Validate(); err != nil || c.Held.All() != 32<<20 {
		t.Errorf("%v; %d bytes in all", err, c.Held.All())
	}
}

func TestTheResponseToAConnectionTooManyIsWhole(t *testing.T) {
	head, body, found := strings.Cut(string(tooManyConnections(1000)), "\r\n\r\n")
	if !found || !strings.Contains(head, "Content-Length: "+strconv.Itoa(len(body))) || !strings.Contains(body, `"reason":"`+limit.ConnectionsPerSecond+`","limit":1000`) {
		t.Errorf("%s\n\n%s", head, body)
	}
}

func TestOnlyWhoIsNotOnLoopbackIsCounted(t *testing.T) {
	c := onFreePorts()
	c.MaxConnectionsPerSecond = 1
	c.Inside, c.Insecure = "0.0.0.0:0", true
	g := start(t, c)
	defer closeNow(t, g)
	_, port, _ := net.SplitHostPort(g.InsideAddr().String())
	for range 5 {
		if status, body := get(t, "http://127.0.0.1:"+port+"/mcp"); status == http.StatusTooManyRequests {
			t.Error(body)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &room{bound: elsewhere{ln}}
	g.admit(r, inside.Listener, false)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := r.bound.Accept()
			if err != nil {
				return
			}
			_ = conn.Close() // it was let in
		}
	}()
	defer func() { <-served }()
	defer ln.Close()
	tooMany(t, g, ln.Addr().String())
}

// elsewhere is a listener on loopback that says of itself and of its clients that they are not there.
type elsewhere struct{ net.Listener }

func (elsewhere) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

func (l elsewhere) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return stranger{conn.(*net.TCPConn)}, nil
}

type stranger struct{ *net.TCPConn }

func (stranger) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 9), Port: 1} }

// tooMany connects until it is refused, which the metrics say.
func tooMany(t *testing.T, g *Gateway, address string) {
	t.Helper()
	eventually(t, "a refusal is counted", func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		_, metrics := get(t, "http://"+g.OpsAddr().String()+"/metrics")
		counted := `gateway_refusals_total{listener="inside",reason="` + limit.ConnectionsPerSecond + `"} `
		return strings.Contains(metrics, counted) && !strings.Contains(metrics, counted+"0\n")
	})
}
