//go:build linux

package load

import (
	"bytes"
	"fmt"
	"testing"
)

func published(t *testing.T, n int64) []byte {
	t.Helper()
	p, err := NewPlain(`{"data":"x",` + SeqMark + `0000000000"}`)
	if err != nil {
		t.Fatal(err)
	}
	p.number(n)
	return bytes.Clone(p.bytes)
}

func TestANumberIsPutIntoAMaskedFrame(t *testing.T) {
	text := `{"data":"x",` + SeqMark + `0000000000"}`
	p, err := NewFrame(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{1, 987654321} {
		p.number(n)
		key, payload := p.bytes[p.start-4:p.start], bytes.Clone(p.bytes[p.start:])
		for i := range payload {
			payload[i] ^= key[i%4]
		}
		if want := "\x00" + string(published(t, n)); string(payload) != want {
			t.Errorf("got %q, want %q", payload, want)
		}
	}
}

// hear gives a reader the text in pieces of that size, and returns the number that it heard last.
func hear(t *testing.T, chunked bool, wire []byte, size int) (last int64, err error) {
	t.Helper()
	crew, err := NewCrew(1)
	if err != nil {
		t.Fatal(err)
	}
	defer crew.Close()
	f := crew.NewFanOut(-1, Publication{}, 1)
	f.left[0].Store(1 << 30) // nothing is published
	r := &reader{of: f, tally: crew.tally[0], chunked: chunked}
	var have []byte
	for len(wire) > 0 {
		n := min(size, len(wire))
		have, wire = append(have, wire[:n]...), wire[n:]
		done, err := r.Arrived(nil, have)
		if err != nil {
			return r.last, err
		}
		have = have[done:]
	}
	return r.last, nil
}

func TestAReaderHearsEveryNumberHoweverItArrives(t *testing.T) {
	var text, chunks []byte
	for n := range int64(20) {
		event := append(append([]byte("data: "), published(t, n+1)...), "\n\n"...)
		text = append(text, event...)
	}
	for rest := text; len(rest) > 0; { // chunks that end anywhere
		n := min(37, len(rest))
		chunks = append(fmt.Appendf(chunks, "%x\r\n", n), rest[:n]...)
		chunks, rest = append(chunks, "\r\n"...), rest[n:]
	}
	for _, size := range []int{1, 2, 13, 64, 1000, 1 << 20} {
		for _, of := range []struct {
			chunked bool
			wire    []byte
		}{{false, text}, {true, chunks}} {
			if last, err := hear(t, of.chunked, of.wire, size); err != nil || last != 20 {
				t.Errorf("chunked %v, in pieces of %d: heard %d, %v", of.chunked, size, last, err)
			}
		}
	}
}

func TestAReaderMissesNothing(t *testing.T) {
	for name, numbers := range map[string][]int64{"one is missing": {1, 3}, "one comes twice": {1, 1}, "two are swapped": {2, 1}} {
		var text []byte
		for _, n := range numbers {
			text = append(text, published(t, n)...)
		}
		if _, err := hear(t, false, text, 1<<20); err == nil {
			t.Errorf("%s, and nobody noticed", name)
		}
	}
}
