package codec

import "bytes"

// AppendLegacyResult appends a far side's result of an ask of kind k, which
// may be one of the stateless revision, as a client of a revision with
// sessions may get it:
//
//   - from a CallTool result, a structuredContent that is no object is
//     removed;
//   - to a CallTool result that has a structuredContent but no content,
//     content is added, with the structuredContent's JSON as text;
//   - from the tools of a ListTools result, each outputSchema is removed whose
//     root is not of type object.
//
// null counts as absent; all else stays byte for byte. The result's syntax
// must have been checked, as for ParseResult. It fails with ErrInputRequired
// for a result of that type, or else as ParseResult does, and then returns dst
// as it was.
func AppendLegacyResult(dst, result []byte, k Kind) ([]byte, error) {
	p := patches{found: found{src: result}}
	once := memberResultType + 1
	if k == CallTool {
		once = memberStructured + 1
	}
	switch err := p.read(once); {
	case err != nil:
		return dst, err
	case p.InputRequired:
		return dst, ErrInputRequired
	case k == CallTool:
		p.legacyContent()
		return p.append(dst), nil
	case k == ListTools && mayName(result, "outputSchema"):
		return appendLegacyTools(dst, result)
	}
	return append(dst, result...), nil
}

// mayName reports whether JSON may hold the name, which has only letters:
// spelled as it is, or with escapes.
func mayName(json []byte, name string) bool {
	return bytes.Contains(json, []byte(name)) || bytes.Contains(json, []byte(`\u`))
}

func (p *patches) legacyContent() {
	if p.Structured == nil {
		return
	}
	add, remove := absent(p.Content), !isObject(p.Structured)
	end := p.at[memberStructured] + len(p.Structured)
	cut := p.structured
	switch {
	case remove && add && p.Content == nil: // so that there is no comma to think of
		p.put(patch{from: cut.name, to: end, name: "content", first: true, value: text(p.Structured)})
		return
	case remove && cut.last > 0:
		p.put(patch{from: cut.last, to: end})
	case remove: // there is content behind it
		p.put(patch{from: cut.name, to: cut.nextBegin})
	}
	if add {
		p.set(memberContent, "content", text(p.Structured))
	}
}

// appendLegacyTools appends a ListTools result without the output schemas that
// only the stateless revision has.
func appendLegacyTools(dst, result []byte) ([]byte, error) {
	c := cutter{dst: dst, src: result}
	w := walk(result)
	w.enter('{')
	for w.nextName() {
		if string(w.name) != "tools" || !w.enter('[') {
			w.element()
			continue
		}
		for w.more(']') {
			w.legacyTool(&c)
		}
	}
	if w.bad {
		return dst, w.failure()
	}
	return c.rest(), nil
}

func (w *walker) legacyTool(c *cutter) {
	if !w.enter('{') {
		w.element()
		return
	}
	c.enter(w.at)
	for w.nextName() {
		name, keep := w.nameAt, true
		if string(w.name) == "outputSchema" {
			keep = w.objectSchema()
		} else {
			w.element()
		}
		if keep {
			c.keep(name, w.at)
		} else {
			c.drop(name, w.at)
		}
	}
}

// objectSchema reads a schema and reports whether its root is of type object,
// and nothing else.
func (w *walker) objectSchema() bool {
	if !w.enter('{') {
		w.element()
		return false
	}
	types, objects := 0, 0
	for w.next() {
		if string(w.name) == "type" {
			types++
			if isString(w.value) && string(w.text(w.value)) == "object" {
				objects++
			}
		}
	}
	return types == 1 && objects == 1
}
