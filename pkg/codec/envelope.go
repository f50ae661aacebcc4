package codec

import "math/bits"

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

// readEnvelope reads the rest of the object entered, to the end of the bytes,
// into s.envelope. Every name is kept, since none of an envelope may be
// duplicate.
func (s *scanner) readEnvelope() (err error) {
	e := &s.envelope
	for s.nextName() {
		s.keep(s.name)
		var member *[]byte
		switch string(s.name) {
		case "jsonrpc":
			member = &e.jsonrpc
		case "id":
			e.idTwice = e.id != nil
			member = &e.id
		case "method":
			member = &e.method
		case "params":
			member = &e.params
		case "result":
			member = &e.result
		case "error":
			member = &e.err
		default:
			member = &s.value
		}
		if member == &e.params && s.peek() == '{' {
			err = s.paramsObject()
		} else {
			*member, err = s.read()
		}
		if err != nil {
			return err
		}
	}
	e.twice = s.duplicateName()
	return s.finish("message")
}

func (s *scanner) paramsObject() error {
	e := &s.envelope
	if err := s.bracket(); err != nil {
		return err
	}
	start := s.offset() - len("{")
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
	end := s.offset()
	e.params = s.src[start:end:end]
	return s.err
}
