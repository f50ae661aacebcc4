package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// walkLasts is how long a gateway answer is cut for one offset.
const walkLasts = 60 * time.Millisecond

// walker tries one offset after the other, with a container of its own whose client and provider it is.
type walker struct {
	*trial
	id      string
	caller  *caller
	serving *provider // for walks of the client's socket

	line  *path
	end   func()        // ends line, or serving
	ended chan struct{} // closed when what comes on line has ended
	asks  chan ask
}

func (t *trial) newWalker(w *walk, number int) (*walker, error) {
	k := &walker{trial: t, id: fmt.Sprintf("walk-%d-%d", t.walked.Add(1), number), asks: make(chan ask, 16)}
	k.caller = &caller{container: k.id, address: t.insideAddress, id: 1_000_000}
	return k, k.caller.initialize()
}

func (k *walker) close() {
	k.silence()
	k.caller.drop()
	if k.serving != nil {
		k.end()
		k.serving.running.Wait()
	}
}

// say is what the call of an offset says.
func (k *walker) say(bytes int) arguments {
	return arguments{Say: fmt.Sprintf("%s/%d all of it", k.id, bytes)}
}

// begin makes a call in a goroutine of its own.
func (k *walker) begin(a arguments) (word string, told <-chan ending) {
	word = k.wordOf(a)
	k.ledger.enter(word, true, false)
	ch := make(chan ending, 1)
	go func() { ch <- k.caller.call(a, false) }()
	return word, ch
}

func (k *walker) wordOf(a arguments) string {
	var word string
	_, _ = fmt.Sscan(a.Say, &word) // it begins with one
	return word
}

// listen opens /requests, as soon as the gateway lets it.
func (k *walker) listen(address string) error {
	deadline := time.Now().Add(hang)
	for {
		line, end, err := dial(k.ctx, address, "/containers/"+k.id+"/requests")
		if err == nil {
			k.line, k.end, k.ended = line, end, make(chan struct{})
			go func(ended chan struct{}) {
				defer close(ended)
				line.hear(k.asks)
			}(k.ended)
			return nil
		}
		refused := new(refusedError)
		if !errors.As(err, &refused) || refused.status != http.StatusConflict || time.Now().After(deadline) {
			return err
		}
		rest(k.ctx, time.Millisecond)
	}
}

// hear passes on the calls that are announced, until the connection ends.
func (p *path) hear(asks chan<- ask) {
	for {
		op, message, err := readFrame(p.in)
		switch {
		case err != nil || op == opClose:
			return
		case op == opPing:
			_, _ = p.Write(frame(opPong, message)) // if it failed, reading does too
		case op == opBinary && len(message) >= 5 && message[4] == kindCall:
			asks <- ask{binary.BigEndian.Uint32(message), message[4], message[5:]}
		}
	}
}

// silence closes /requests cleanly and waits for its end. What was heard on it is forgotten.
func (k *walker) silence() {
	if k.line == nil {
		return
	}
	_ = k.line.SetDeadline(time.Now().Add(closeWait))
	_, _ = k.line.Write(closeFrame()) // it may have ended already
	<-k.ended
	k.end()
	k.line = nil
	for len(k.asks) > 0 {
		<-k.asks
	}
}

// next is the next ask. There is none when the call is over.
func (k *walker) next(told <-chan ending) (a ask, ok bool) {
	select {
	case a := <-k.asks:
		return a, true
	case e := <-told:
		k.fault("%s was told %d without being asked for: %v", k.id, e.result, e.err)
		return ask{}, false
	}
}

func (k *walker) target(a ask) string {
	return fmt.Sprintf("/containers/%s/mcp/call-tool/%d", k.id, a.channel)
}

// serve answers asks as they should be until the call is over, and returns how it ended and how many asks there were.
func (k *walker) serve(told <-chan ending) (e ending, asks int) {
	for {
		select {
		case e := <-told:
			return e, asks
		case a := <-k.asks:
			asks++
			k.answer(a, nil)
		}
	}
}

// answer answers an ask as it should be, if the gateway lets it. Without a message it is carried out first.
func (k *walker) answer(a ask, message []byte) {
	path, end, err := dial(k.ctx, k.outsideAddress, k.target(a))
	if err != nil {
		return
	}
	defer end()
	if message == nil {
		if message, err = carryOut(k.ctx, k.ledger, a.payload); err != nil {
			k.fault("an ask that cannot be carried out: %v", err)
		}
	}
	path.send(message)
}

// limited is a toxiproxy to a target that cuts connections after so many bytes of a stream.
func (k *walker) limited(target, stream string, bytes int) (*toxic, error) {
	t, err := newToxic(target)
	if err != nil {
		return nil, err
	}
	return t, t.add(poison{Type: "limit_data", Stream: stream, Attributes: map[string]any{"bytes": bytes}})
}

// expect holds the number of asks that there were against what it must be.
func (k *walker) expect(w *walk, bytes, asks, least, most int) {
	if asks < least || asks > most {
		k.fault("%s: cut after %d bytes, asked %d times, not %d to %d", w.name, bytes, asks, least, most)
	}
}

// cutAnswer cuts an answer path: its upgrade, the message, the Close.
func (k *walker) cutAnswer(w *walk, bytes int) (total int) {
	if k.line == nil {
		if err := k.listen(k.outsideAddress); err != nil {
			k.fault("%v", err)
			return 1
		}
	}
	word, told := k.begin(k.say(bytes))
	a, ok := k.next(told)
	if !ok {
		return 1
	}
	t, err := k.limited(k.outsideAddress, w.stream, bytes)
	if err != nil {
		k.fault("%v", err)
		return 1
	}
	message, err := carryOut(k.ctx, k.ledger, a.payload)
	if err != nil {
		k.fault("%v", err)
	}
	opening := len(upgrade(k.target(a)))
	sent, head := k.answerThrough(t.address(), a, message)
	t.abandon()
	if head == 0 { // as a provider does: the ask may still be there for it
		k.answer(a, message)
	}
	e, more := k.serve(told)
	least, most := 1, 1
	switch total = sent; {
	case w.stream == upstreamward && bytes < opening: // the path was not opened: the second attempt finds it
	case w.stream == upstreamward && bytes < sent && head == 0:
		most = 2 // whether the second attempt was faster is nobody's affair
	case w.stream == upstreamward && bytes < sent:
		least, most = 2, 2 // it was opened, and broke
	case w.stream == downstreamward && bytes < switchingLength:
		least, most = 2, 2
	case w.stream == downstreamward && bytes == switchingLength:
		most = 2 // whether toxiproxy passes on what comes as it ends is its affair
	}
	if w.stream == downstreamward {
		total = switchingLength + closingLength
		if head > 0 && head != switchingLength {
			k.fault("the 101 has %d bytes, not %d", head, switchingLength)
		}
	}
	k.expect(w, bytes, 1+more, least, most)
	k.table.note(&w.kind, word, e, k.ledger.executions(word))
	return total
}

// How long the gateway's 101 and its Close are.
const (
	switchingLength = 129
	closingLength   = 4
)

// answerThrough answers at an address, for as long as the connection lets it. It returns how many bytes that are, and how
// many the 101 had.
func (k *walker) answerThrough(address string, a ask, message []byte) (sent, head int) {
	opening := upgrade(k.target(a))
	answer := append(frame(opBinary, message), closeFrame()...)
	sent = len(opening) + len(answer)
	nc, err := net.DialTimeout("tcp", address, handshakeWait)
	if err != nil {
		return sent, 0
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(handshakeWait)) // what is wrong with the connection, Write says
	if _, err := nc.Write(opening); err != nil {
		return sent, 0
	}
	counted := &counting{Conn: nc}
	in := bufio.NewReaderSize(counted, 4096)
	if readSwitching(in) != nil {
		return sent, 0
	}
	head = counted.n - in.Buffered()
	if _, err := nc.Write(answer); err == nil {
		_, _, _ = readFrame(in) // the Close, or the end
	}
	return sent, head
}

type counting struct {
	net.Conn
	n int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.n += n
	return n, err
}

// cutRequests cuts a /requests connection: its upgrade, what is announced on it, the Close.
func (k *walker) cutRequests(w *walk, bytes int) (total int) {
	k.silence()
	word, told := k.begin(k.say(bytes))
	t, err := k.limited(k.outsideAddress, w.stream, bytes)
	if err != nil {
		k.fault("%v", err)
		return 1
	}
	total = len(upgrade("/containers/"+k.id+"/requests")) + len(closeFrame())
	heard := 0
	if k.listen(t.address()) == nil {
		heard = k.hearOne()
		k.silence()
	}
	t.abandon()
	if err := k.listen(k.outsideAddress); err != nil {
		k.fault("%v", err)
		return 1
	}
	e, asks := k.serve(told)
	k.expect(w, bytes, asks, 1, 1)
	if w.stream == downstreamward {
		total = 0
		if heard > 0 {
			total = bytes
		}
	}
	k.table.note(&w.kind, word, e, k.ledger.executions(word))
	return total
}

// hearOne waits for the ask that waits, or for the end of the connection.
func (k *walker) hearOne() int {
	select {
	case <-k.asks:
		return 1
	case <-k.ended:
		return len(k.asks)
	}
}

// cutClient cuts a client's connection: its request, the response.
func (k *walker) cutClient(w *walk, bytes int) (total int) {
	if k.serving == nil {
		ctx, quit := context.WithCancel(k.ctx)
		k.end = quit
		k.serving = &provider{container: k.id, address: k.outsideAddress, ledger: k.ledger, fault: k.fault}
		k.serving.start(ctx)
	}
	t, err := k.limited(k.insideAddress, w.stream, bytes)
	if err != nil {
		k.fault("%v", err)
		return 1
	}
	defer t.abandon()
	a := k.say(bytes)
	word := k.wordOf(a)
	k.ledger.enter(word, false, false)
	id := k.caller.next()
	sent := k.caller.posting(id, a, false)
	nc, err := net.DialTimeout("tcp", t.address(), handshakeWait)
	if err != nil {
		k.fault("%v", err)
		return 1
	}
	defer nc.Close()
	counted := &counting{Conn: nc}
	began := time.Now()
	e, _ := converse(&clientConn{nc.(*net.TCPConn), bufio.NewReader(counted)}, sent, id, a.Say)
	e.took = time.Since(began)
	switch {
	case w.stream == upstreamward:
		total = len(sent) + 1 // at that many nothing is cut
		if e.result == answered && bytes < len(sent) {
			k.fault("client, cut after %d bytes of %d, was answered", bytes, len(sent))
		}
		if bytes < len(sent) && k.ledger.executions(word) > 0 {
			k.fault("client, cut after %d bytes of %d, was carried out", bytes, len(sent))
		}
	case e.result == answered:
		total = counted.n
	}
	k.table.note(&w.kind, word, e, k.ledger.executions(word))
	return total
}
