package codec

import "bytes"

// AppendLegacyResult appends a far side's result of an ask of kind k, which
// may be one of the stateless revision, as a client of a revision with
// sessions may get it:
//
//   - of a CallTool result, a structuredContent that is no object is removed,
//     and if there is no content, it is given structuredContent as text;
//   - in a ListTools result, the outputSchema of a tool is removed unless its
//     root is of type object.
//
// All else stays byte for byte. A result that is to be handed on whole is not
// read to its end, so its syntax must have been checked. It fails with
// ErrInputRequired for a result with that resultType, or as ParseResult does,
// and then returns dst as it was.
func AppendLegacyResult(dst, result []byte, k Kind) ([]byte, error) {
	escaped := bytes.Contains(result, []byte(`\u`))
	if !escaped && !bytes.Contains(result, []byte(`"resultType"`)) {
		switch {
		case k == CallTool && bytes.Contains(result, []byte(`"structuredContent"`)):
		case k == ListTools && bytes.Contains(result, []byte(`"outputSchema"`)):
		default:
			return append(dst, result...), nil
		}
	}
	s, err := scan(result)
	if err != nil {
		return dst, err
	}
	defer s.release()
	if k == ListTools {
		return s.appendLegacyTools(dst)
	}
	r, err := s.result()
	switch {
	case err != nil:
		return dst, err
	case r.InputRequired:
		return dst, ErrInputRequired
	case k != CallTool:
		return append(dst, result...), nil
	}
	p := patches{r: &r}
	p.legacyContent()
	return p.append(dst, result), nil
}

func (p *patches) legacyContent() {
	r := p.r
	end := r.ends[memberStructured]
	switch object := r.Structured != nil && isObject(r.Structured); {
	case r.Structured == nil:
		return
	case object && absent(r.Content):
		p.set(memberContent, "content", text(r.Structured))
		return
	case object:
		return
	case r.Content == nil:
		v := text(r.Structured)
		p.put(patch{from: r.structuredAt, to: end, name: "content", first: true, value: v})
		return
	case isNull(r.Content):
		p.set(memberContent, "content", text(r.Structured))
	}
	if r.structuredFrom > 0 {
		p.put(patch{from: r.structuredFrom, to: end})
	} else {
		p.put(patch{from: r.structuredAt, to: r.structuredTo})
	}
}

// appendLegacyTools appends the result that s reads, without the output
// schemas that only the stateless revision has.
func (s *scanner) appendLegacyTools(dst []byte) ([]byte, error) {
	if err := s.object("result"); err != nil {
		return dst, err
	}
	c := cutter{dst: dst, src: s.src}
	var r ResultShape
	for s.nextName() {
		switch string(s.name) {
		case "tools":
			s.err = s.legacyTools(&c)
		case "resultType":
			if s.value, s.err = s.read(); s.err == nil {
				s.take(&r.ResultType)
			}
		default:
			_, s.err = s.read()
		}
		if s.err != nil {
			break
		}
	}
	if err := s.finish("result"); err != nil {
		return dst, err
	}
	if err := r.judge(); err != nil {
		return dst, err
	}
	if r.InputRequired {
		return dst, ErrInputRequired
	}
	return c.rest(), nil
}

func (s *scanner) legacyTools(c *cutter) error {
	if s.peek() != '[' {
		_, err := s.read()
		return err
	}
	if err := s.bracket(); err != nil {
		return err
	}
	for s.peek() != ']' {
		if err := s.legacyTool(c); err != nil {
			return err
		}
	}
	return s.bracket()
}

func (s *scanner) legacyTool(c *cutter) error {
	if s.peek() != '{' {
		_, err := s.read()
		return err
	}
	if err := s.bracket(); err != nil {
		return err
	}
	c.enter(s.offset())
	for s.nextName() {
		start, keep := s.nameAt, true
		if string(s.name) == "outputSchema" {
			keep, s.err = s.rootIsObject()
		} else {
			_, s.err = s.read()
		}
		switch {
		case s.err != nil:
			return s.err
		case keep:
			c.keep(start, s.offset())
		default:
			c.drop(start, s.offset())
		}
	}
	return s.err
}

// rootIsObject reads a schema and reports whether it is one of objects.
func (s *scanner) rootIsObject() (bool, error) {
	if s.peek() != '{' {
		_, err := s.read()
		return false, err
	}
	if err := s.bracket(); err != nil {
		return false, err
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
	return types == 1 && objects == 1, s.err
}
