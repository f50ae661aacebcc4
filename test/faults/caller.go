package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// hang is how long a caller may have to wait: far longer than any fault lasts and anybody needs to get over it.
const hang = 25 * time.Second

// result is how a call ended for its caller.
type result int

const (
	answered result = iota
	failed          // it was told an error, or saw its connection end
	lost            // it was told nothing
	foreign         // it was told what is another's, or more than was its own
)

// ending is a result, and what is to be said of it.
type ending struct {
	result result
	err    error
	took   time.Duration
}

// caller makes the calls of one container over connections that it keeps, as clients do: an answer too many is what the next
// call on that connection finds.
type caller struct {
	container string
	address   string // where to dial
	session   string

	mu   sync.Mutex
	idle []*clientConn
	id   uint64
}

type clientConn struct {
	*net.TCPConn
	in *bufio.Reader
}

func (c *caller) next() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id++
	return c.id
}

var errUnasked = errors.New("an idle connection holds bytes that nobody asked for")

// take returns a connection that the gateway has not ended.
func (c *caller) take() (*clientConn, error) {
	for {
		c.mu.Lock()
		var conn *clientConn
		if n := len(c.idle); n > 0 {
			conn, c.idle = c.idle[n-1], c.idle[:n-1]
		}
		c.mu.Unlock()
		if conn == nil {
			break
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond)) // what is wrong with the connection, Peek says
		b, err := conn.in.Peek(1)
		switch {
		case len(b) > 0:
			conn.Close()
			return nil, errUnasked
		case errors.Is(err, os.ErrDeadlineExceeded):
			return conn, nil
		}
		conn.Close()
	}
	d := net.Dialer{Timeout: 5 * time.Second}
	nc, err := d.Dial("tcp", c.address)
	if err != nil {
		return nil, err
	}
	return &clientConn{nc.(*net.TCPConn), bufio.NewReader(nc)}, nil
}

func (c *caller) keep(conn *clientConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, conn)
}

// drop closes the connections that are kept.
func (c *caller) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.idle {
		conn.Close()
	}
	c.idle = nil
}

// initialize begins the container's session.
func (c *caller) initialize() error {
	body := request(0, "initialize", map[string]any{"protocolVersion": sessions, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "faults", "version": "1"}})
	conn, err := c.take()
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(hang))
	if _, err := conn.Write(httpRequest(c.container, "", "initialize", "", body)); err != nil {
		return err
	}
	response, err := http.ReadResponse(conn.in, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if c.session = response.Header.Get(sessionHeader); c.session == "" {
		return fmt.Errorf("initialize: %s without a session", response.Status)
	}
	return nil
}

// call makes a call and waits for its end.
func (c *caller) call(a arguments, modern bool) ending {
	began := time.Now()
	e := c.attempt(a, modern)
	e.took = time.Since(began)
	return e
}

func (c *caller) attempt(a arguments, modern bool) ending {
	conn, err := c.take()
	if errors.Is(err, errUnasked) {
		return ending{result: foreign, err: err}
	}
	if err != nil {
		return ending{result: failed, err: err}
	}
	id := c.next()
	e, again := converse(conn, c.posting(id, a, modern), id, a.Say)
	if again {
		c.keep(conn)
	} else {
		conn.Close()
	}
	return e
}

// posting is a call as bytes.
func (c *caller) posting(id uint64, a arguments, modern bool) []byte {
	p := params{Name: "say", Arguments: a}
	session := c.session
	if modern {
		p.Meta, session = statelessMeta(), ""
	}
	return httpRequest(c.container, session, "tools/call", "say", request(id, "tools/call", p))
}

// converse sends a request and reads its response; again says that the connection can be kept.
func converse(conn *clientConn, sent []byte, id uint64, said string) (e ending, again bool) {
	_ = conn.SetDeadline(time.Now().Add(hang)) // what is wrong with the connection, Write says
	if _, err := conn.Write(sent); err != nil {
		return broken(err), false
	}
	response, err := http.ReadResponse(conn.in, nil)
	if err != nil {
		return broken(err), false
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return broken(err), false
	}
	messages := [][]byte{body}
	if response.Header.Get("Content-Type") == mediaStream {
		messages = eventsOf(body)
	}
	return judge(messages, response.StatusCode, id, said), !response.Close
}

// broken is the end of a call whose connection failed. One on which nothing happened until the end is a call that hangs.
func broken(err error) ending {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ending{result: lost, err: fmt.Errorf("nothing for %v: %w", hang, err)}
	}
	return ending{result: failed, err: err}
}

func eventsOf(stream []byte) (messages [][]byte) {
	for line := range bytes.Lines(stream) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			messages = append(messages, bytes.TrimSpace(data))
		}
	}
	return messages
}

// judge tells what a whole response means for the call that had this id and said this.
func judge(messages [][]byte, status int, id uint64, said string) ending {
	switch len(messages) {
	case 0:
		return ending{result: lost, err: fmt.Errorf("status %d, which ended in order without an answer", status)}
	case 1:
	default:
		return ending{result: foreign, err: fmt.Errorf("%d answers: %.300q", len(messages), messages)}
	}
	var m struct {
		ID     *uint64         `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(messages[0], &m); err != nil {
		return ending{result: lost, err: fmt.Errorf("status %d, and no message: %.200q: %w", status, messages[0], err)}
	}
	switch {
	case m.ID != nil && *m.ID != id:
		return ending{result: foreign, err: fmt.Errorf("call %d got the answer to %d", id, *m.ID)}
	case m.Error != nil:
		return ending{result: failed, err: fmt.Errorf("status %d, error %d: %s", status, m.Error.Code, m.Error.Message)}
	case m.ID == nil || status != http.StatusOK:
		return ending{result: lost, err: fmt.Errorf("status %d, and no answer: %.200q", status, messages[0])}
	}
	var r toolResult
	if err := json.Unmarshal(m.Result, &r); err != nil || len(r.Content) != 1 || r.Content[0].Text != answerTo(said) {
		return ending{result: foreign, err: fmt.Errorf("%.60q was answered %.200q", said, m.Result)}
	}
	return ending{result: answered}
}
