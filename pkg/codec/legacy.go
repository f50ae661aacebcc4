package codec

import "bytes"

// mayName reports whether JSON may hold the name, which has only letters:
// spelled as it is, or with escapes.
func mayName(json []byte, name string) bool {
	return bytes.Contains(json, []byte(name)) || bytes.Contains(json, []byte(`\u`))
}

// legacyContent finds what LegacyResponse changes of a CallTool result.
func (p *patches) legacyContent() {
	structured, content := p.value(memberStructured), p.value(memberContent)
	if structured == nil {
		return
	}
	add, remove := absent(content), !isObject(structured)
	end := p.members[memberStructured].to
	cut := p.structured
	switch {
	case remove && add && content == nil: // so that there is no comma to think of
		p.put(patch{from: cut.name, to: end, value: structuredText, add: true, first: true})
		return
	case remove && cut.last > 0:
		p.put(patch{from: cut.last, to: end})
	case remove: // there is content behind it
		p.put(patch{from: cut.name, to: cut.nextBegin})
	}
	if add {
		p.set(memberContent, structuredText)
	}
}

// appendLegacyTools appends a ListTools result without the output schemas that
// only the stateless revision has.
func appendLegacyTools(dst, result []byte) []byte {
	c := cutter{dst: dst, src: result}
	s := scan(result)
	s.enter('{')
	for s.nextName() {
		if string(s.name) != "tools" || !s.enter('[') {
			s.read()
			continue
		}
		for s.more(']') {
			s.legacyTool(&c)
		}
	}
	return c.rest()
}

func (s *scanner) legacyTool(c *cutter) {
	if !s.enter('{') {
		s.read()
		return
	}
	c.enter(s.at)
	for s.nextName() {
		name, keep := s.nameAt, true
		if string(s.name) == "outputSchema" {
			keep = s.objectSchema()
		} else {
			s.read()
		}
		if keep {
			c.keep(name, s.at)
		} else {
			c.drop(name, s.at)
		}
	}
}

// objectSchema reads a schema and reports whether its root is of type object,
// and nothing else.
func (s *scanner) objectSchema() bool {
	if !s.enter('{') {
		s.read()
		return false
	}
	types, objects := 0, 0
	for s.next() {
		if string(s.name) == "type" {
			types++
			if isString(s.value) && string(unquote(s.value)) == "object" {
				objects++
			}
		}
	}
	return types == 1 && objects == 1
}
