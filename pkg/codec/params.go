package codec

import "bytes"

// MetaEdit says how AppendParams changes the _meta of a request's params.
type MetaEdit struct {
	// ProgressToken, raw, replaces the value of a progressToken that is
	// there; nil leaves it.
	ProgressToken []byte

	// DropModern removes the four members by which a request is one of the
	// stateless revision: MetaProtocolVersion, MetaClientInfo,
	// MetaClientCapabilities and MetaLogLevel. If that leaves nothing in
	// _meta, it is removed itself, but params are not.
	DropModern bool

	// Add holds raw members without braces around them, such as
	// `"a":1,"b":{}`. Those whose names are not in _meta are added to it; what
	// it takes for that is made.
	Add []byte
}

// AppendParams appends the params of a request with their _meta edited. All
// else stays byte for byte and in order. params and meta are Params and Meta
// of one Message; instead of its Params may stand what Payload made of them.
// No params, nil or null, remain so unless there is something to add.
//
// Only meta is read: a large argument costs no more than being copied. It
// fails, and returns dst as it was, if meta has a member twice that Meta names,
// if it is no view into params, or if members are to be added to what is no
// object.
func AppendParams(dst, params, meta []byte, edit MetaEdit) ([]byte, error) {
	add := len(edit.Add) > 0
	none := len(params) == 0 || isNull(params)
	switch {
	case none && add:
		dst = append(dst, `{"_meta":{`...)
		dst = append(dst, edit.Add...)
		return append(dst, `}}`...), nil
	case !none && !isObject(params) && add:
		return dst, shapeError("params must be an object")
	case none || !isObject(params) || meta == nil && !add:
		return append(dst, params...), nil
	case meta == nil:
		return edit.appendMade(dst, params), nil
	case isNull(meta) && add || isObject(meta):
		return edit.appendParams(dst, params, meta)
	case add:
		return dst, shapeError("_meta must be an object")
	}
	return append(dst, params...), nil
}

const spaces = " \t\r\n"

// appendMade appends params, an object, with a _meta of what there is to add.
func (edit *MetaEdit) appendMade(dst, params []byte) []byte {
	head := bytes.TrimSuffix(params, []byte("}"))
	head = bytes.TrimRight(head, spaces)
	dst = append(dst, head...)
	if len(head) > len("{") {
		dst = append(dst, ',')
	}
	dst = append(dst, `"_meta":{`...)
	dst = append(dst, edit.Add...)
	dst = append(dst, '}')
	return append(dst, params[len(head):]...)
}

// appendParams appends params with meta edited, which is an object, or null
// and to be made one.
func (edit *MetaEdit) appendParams(dst, params, meta []byte) ([]byte, error) {
	at := indexView(params, meta)
	if at < 0 {
		return dst, shapeError("_meta must be a view into the params it is given with")
	}
	out, rest := append(dst, params[:at]...), params[at+len(meta):]
	if isNull(meta) {
		out = append(out, '{')
		out = append(out, edit.Add...)
		out = append(out, '}')
		return append(out, rest...), nil
	}
	c := cutter{dst: out, src: meta}
	if err := edit.change(&c); err != nil {
		return dst, err
	}
	if c.kept == 0 && c.cut > 0 {
		out, rest = withoutMember(out, len(dst), rest)
	} else {
		out = c.rest()
	}
	return append(out, rest...), nil
}

// change tells c what becomes of the members it has, and of those to add.
func (edit *MetaEdit) change(c *cutter) error {
	s := scan(c.src)
	s.enter('{')
	c.enter(s.at)
	var seen uint
	for s.next() {
		i := metaIndex(s.name)
		if i >= 0 {
			if seen&(1<<i) != 0 {
				return duplicate("_meta", string(s.name))
			}
			seen |= 1 << i
		}
		if edit.DropModern && i > metaProgressToken {
			c.drop(s.nameAt, s.at)
			continue
		}
		c.keep(s.nameAt, s.at)
		if i == metaProgressToken && edit.ProgressToken != nil {
			c.replace(s.valueAt, s.at, edit.ProgressToken)
		}
	}
	if s.err != nil {
		return s.err
	}
	add := scan(edit.Add)
	for add.first = true; add.peek() != 0 && add.next(); {
		if !edit.keeps(c.src, add.name) {
			c.add(add.src[add.nameAt:add.at])
		}
	}
	return add.err
}

// keeps reports whether meta has a member of that name which the edit does
// not remove.
func (edit *MetaEdit) keeps(meta, name []byte) bool {
	if edit.DropModern && metaIndex(name) > metaProgressToken {
		return false
	}
	s := scan(meta)
	s.enter('{')
	for s.next() {
		if bytes.Equal(s.name, name) {
			return true
		}
	}
	return false
}

// withoutMember takes the name of a member and the colon behind it from the
// end of out, where an object begins at start. The value is not there yet.
// With the name goes one comma, if there is one: that before the name or that
// behind the value, where rest goes on.
func withoutMember(out []byte, start int, rest []byte) (head, tail []byte) {
	object := bytes.TrimRight(out[start:], spaces+":")
	object = bytes.TrimSuffix(object, []byte(`"`))
	name := bytes.LastIndexByte(object, '"') // no spelling of _meta has a quote
	head = out[:start+max(name, 0)]
	before := bytes.TrimRight(head[start:], spaces)
	if bytes.HasSuffix(before, []byte(",")) {
		return head[:start+len(before)-len(",")], rest
	}
	after, comma := bytes.CutPrefix(bytes.TrimLeft(rest, spaces), []byte(","))
	if comma {
		return head, bytes.TrimLeft(after, spaces)
	}
	return head, rest
}

// indexView returns where in b its view v begins, or -1 if it is none.
func indexView(b, v []byte) int {
	const enough = 32 // bytes to be rare in b by; the address decides
	sample := v[:min(len(v), enough)]
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], sample)
		if i < 0 {
			return -1
		}
		at += i
		if &b[at] == &v[0] && len(b)-at >= len(v) {
			return at
		}
	}
}
