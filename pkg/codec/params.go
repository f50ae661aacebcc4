package codec

import "bytes"

// MetaEdit says how AppendParams changes the _meta of a request's params.
type MetaEdit struct {
	// ProgressToken, raw, replaces the value of a progressToken that is
	// there; nil leaves it.
	ProgressToken []byte
	// DropModern removes the four members by which the stateless revision
	// makes a request: MetaProtocolVersion, MetaClientInfo,
	// MetaClientCapabilities and MetaLogLevel. A _meta that is empty then is
	// removed too.
	DropModern bool
	// Add holds raw members, without braces around them, such as
	// `"a":1,"b":{}`. Each is added whose name is not there, or was dropped.
	// If it is not empty, what it takes to hold it is made.
	Add []byte
}

// AppendParams appends a request's params with their _meta edited. All else
// stays byte for byte and in order. params and meta are Params and Meta of
// one Message, or params is what Payload made of those; params may be null, or
// nil for none.
//
// Only meta is read. So its costs do not grow with what else is in params,
// other than by copying that. It fails, and returns dst as it was, if members
// would have to be added to what is no object, if meta is no part of params,
// or if meta has a member twice that the edit names.
func AppendParams(dst, params, meta []byte, edit MetaEdit) ([]byte, error) {
	add := len(edit.Add) > 0
	switch {
	case len(params) == 0 || isNull(params):
		if !add {
			return append(dst, params...), nil
		}
		return edit.appendFresh(dst, `{"_meta":{`, `}}`)
	case meta == nil && !add:
		return append(dst, params...), nil
	case !isObject(params):
		if !add {
			return append(dst, params...), nil
		}
		return dst, shapeError("params must be an object")
	case meta == nil:
		end := len(bytes.TrimRight(params, spaces)) - len("}")
		head := bytes.TrimRight(params[:end], spaces)
		out := append(dst, head...)
		open := `,"_meta":{`
		if len(head) == len("{") {
			open = open[1:]
		}
		out, err := edit.appendFresh(out, open, `}`)
		if err != nil {
			return dst, err
		}
		return append(out, params[len(head):]...), nil
	}
	return edit.appendParams(dst, params, meta)
}

func (edit *MetaEdit) appendFresh(dst []byte, open, closing string) ([]byte, error) {
	out := append(dst, open...)
	out = append(out, edit.Add...)
	return append(out, closing...), nil
}

// appendParams edits a meta that is there.
func (edit *MetaEdit) appendParams(dst, params, meta []byte) ([]byte, error) {
	if !isObject(meta) && (!isNull(meta) || len(edit.Add) == 0) {
		if len(edit.Add) > 0 {
			return dst, shapeError("params._meta must be an object")
		}
		return append(dst, params...), nil
	}
	at := indexView(params, meta)
	if at < 0 {
		return dst, errNotInParams
	}
	start := len(dst)
	out := append(dst, params[:at]...)
	out, emptied, err := edit.appendMeta(out, meta)
	if err != nil {
		return dst, err
	}
	rest := params[at+len(meta):]
	if emptied {
		out, rest = withoutMember(out[:start+at], rest)
	}
	return append(out, rest...), nil
}

const errNotInParams = shapeError("_meta must be a part of the params it is given with")

// withoutMember takes the last member's name, which has no value yet, from the
// end of head, an object's beginning. With it goes one comma, of head or of
// rest.
func withoutMember(head, rest []byte) (h, r []byte) {
	head = bytes.TrimRight(head, spaces+":")
	head = head[:bytes.LastIndexByte(head[:len(head)-1], '"')] // no name spelled _meta has a quote in it
	if before := bytes.TrimRight(head, spaces); before[len(before)-1] == ',' {
		return before[:len(before)-1], rest
	}
	if after, ok := bytes.CutPrefix(bytes.TrimLeft(rest, spaces), []byte(",")); ok {
		return head, bytes.TrimLeft(after, spaces)
	}
	return head, rest
}

const spaces = " \t\r\n"

// indexView returns where in b its view v begins, or -1 if it is none.
func indexView(b, v []byte) int {
	const enough = 32 // to be rare in b; that it is the view shows by its address
	sample := v[:min(len(v), enough)]
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], sample)
		if i < 0 {
			return -1
		}
		at += i
		if &b[at] == &v[0] {
			if len(b)-at < len(v) {
				return -1
			}
			return at
		}
	}
}

// appendMeta appends meta, edited. emptied says that it lost its last member.
func (edit *MetaEdit) appendMeta(dst, meta []byte) (out []byte, emptied bool, err error) {
	if isNull(meta) {
		out, err = edit.appendFresh(dst, `{`, `}`)
		return out, false, err
	}
	s, err := scan(meta)
	if err != nil {
		return dst, false, err
	}
	defer s.release()
	if err := s.object("_meta"); err != nil {
		return dst, false, err
	}
	c := cutter{dst: dst, src: meta}
	c.enter(s.offset())
	var known Meta
	for s.next() {
		end := s.offset()
		member := known.member(s.name)
		if member != nil {
			s.take(member)
		}
		switch {
		case member == nil:
			c.keep(s.nameAt, end)
		case member != &known.ProgressToken && edit.DropModern:
			c.drop(s.nameAt, end)
		default:
			c.keep(s.nameAt, end)
			if member == &known.ProgressToken && edit.ProgressToken != nil {
				c.replace(end-len(s.value), end, edit.ProgressToken)
			}
		}
	}
	if err := s.finish("_meta"); err != nil {
		return dst, false, err
	}
	if err := edit.addTo(&c); err != nil {
		return dst, false, err
	}
	return c.rest(), c.kept == 0 && c.cut > 0, nil
}

// addTo adds what edit.Add has and c's object has not, or has no longer.
func (edit *MetaEdit) addTo(c *cutter) error {
	if len(edit.Add) == 0 {
		return nil
	}
	add, err := scanMembers(edit.Add)
	if err != nil {
		return err
	}
	defer add.release()
	for add.next() {
		there, err := edit.keeps(c.src, add.name)
		if err != nil {
			return err
		}
		if !there {
			c.add(add.src[add.nameAt:add.offset()])
		}
	}
	return add.finish("what is added to _meta")
}

// keeps reports whether meta has a member of that name which the edit leaves
// there.
func (edit *MetaEdit) keeps(meta, name []byte) (bool, error) {
	var m Meta
	if member := m.member(name); edit.DropModern && member != nil && member != &m.ProgressToken {
		return false, nil
	}
	s, err := scan(meta)
	if err != nil {
		return false, err
	}
	defer s.release()
	if err := s.object("_meta"); err != nil {
		return false, err
	}
	there := false
	for s.next() {
		there = there || bytes.Equal(s.name, name)
	}
	return there, s.finish("_meta")
}
