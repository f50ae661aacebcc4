package codec

import (
	"bytes"
	"math/bits"
	"slices"
)

// envelope holds the members of a JSON-RPC envelope as raw views, nil where
// there is none, before anything but their syntax was judged.
type envelope struct {
	jsonrpc, id, method, params, result, err []byte

	meta, name, uri []byte // of params, if that is an object

	idTwice       bool
	twice         []byte // a name that is not unique, unescaped
	twiceInParams string // the same, among the members of params in readInParams
}

// readInParams are the members of params that decide something in the
// gateway. Were one there twice, we and the next reader could go by different
// ones.
var readInParams = [...]string{"_meta", "name", "uri", "requestId", "progressToken", "protocolVersion"}

func (e *envelope) member(name []byte) *[]byte {
	switch string(name) {
	case "jsonrpc":
		return &e.jsonrpc
	case "id":
		return &e.id
	case "method":
		return &e.method
	case "params":
		return &e.params
	case "result":
		return &e.result
	case "error":
		return &e.err
	}
	return nil
}

// read reads the rest of the object that s has entered, to the end of the
// bytes. No two members of an envelope may have the same name.
func (e *envelope) read(s *scanner) error {
	var room [4][]byte
	others := room[:0] // names that are none of ours
	for s.nextName() {
		name, member := s.name, e.member(s.name)
		switch {
		case member == nil:
			others = append(others, name)
		case *member != nil:
			e.twice = name
			e.idTwice = e.idTwice || member == &e.id
		}
		if member == &e.params && s.peek() == '{' {
			e.readParams(s)
		} else {
			s.read()
		}
		if member != nil {
			*member = s.value
		}
	}
	if e.twice == nil {
		e.twice = duplicateName(others)
	}
	return s.end()
}

// duplicateName returns one of the names that is there twice, or nil. It
// sorts, so that an envelope of very many members costs no more than its
// length deserves.
func duplicateName(names [][]byte) []byte {
	slices.SortFunc(names, bytes.Compare)
	for i := 1; i < len(names); i++ {
		if bytes.Equal(names[i-1], names[i]) {
			return names[i]
		}
	}
	return nil
}

func (e *envelope) readParams(s *scanner) {
	start := s.at
	s.enter('{')
	var seen, again uint
	for s.next() {
		for i, read := range readInParams {
			if string(s.name) == read {
				again |= seen & (1 << i)
				seen |= 1 << i
			}
		}
		switch string(s.name) {
		case "_meta":
			e.meta = s.value
		case "name":
			e.name = s.value
		case "uri":
			e.uri = s.value
		}
	}
	if again != 0 {
		e.twiceInParams = readInParams[bits.TrailingZeros(again)]
	}
	s.value = s.src[start:s.at:s.at]
}
