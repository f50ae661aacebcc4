package codec

import "github.com/go-json-experiment/json/jsontext"

// AppendWithMember appends an object in which the member of the given name,
// however it is spelled there, has another value, or which has it as its last
// member if it had none. The rest stays byte for byte. value is raw JSON, and
// not looked at. It fails, and returns dst as it was, if object is no JSON
// object or has more than one such member.
func AppendWithMember(dst, object []byte, name string, value []byte) ([]byte, error) {
	return appendWith(dst, object, value, name)
}

// appendWith is AppendWithMember for a member of a member: path leads to it.
// Objects on the way that are absent, or null, are made.
func appendWith(dst, object, value []byte, path ...string) ([]byte, error) {
	p, err := find(object, path[0])
	if err != nil {
		return dst, err
	}
	out, err := p.put(append(dst, object[:p.from]...), object, value, path)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// put appends the object from p on, which is the place of path[0], with value
// at the end of the path.
func (p place) put(dst, object, value []byte, path []string) ([]byte, error) {
	old := object[p.from:p.to]
	if p.absent {
		if !p.first {
			dst = append(dst, ',')
		}
		dst = appendName(dst, path[0])
	}
	switch {
	case len(path) == 1:
		dst = append(dst, value...)
	case p.absent || isNull(old):
		for _, name := range path[1:] {
			dst = appendName(append(dst, '{'), name)
		}
		dst = append(dst, value...)
		for range path[1:] {
			dst = append(dst, '}')
		}
	default:
		var err error
		if dst, err = appendWith(dst, old, value, path[1:]...); err != nil {
			return nil, err
		}
	}
	return append(dst, object[p.to:]...), nil
}

func appendName(dst []byte, name string) []byte {
	dst, _ = jsontext.AppendQuote(dst, name) // fails only after replacing
	return append(dst, ':')
}

// place is where in an object the value of a member is, or where the member
// would be added.
type place struct {
	from, to int
	absent   bool
	first    bool // the object has no members at all
}

func find(object []byte, name string) (place, error) {
	s := scan(object)
	if err := s.object("what holds " + name); err != nil {
		return place{}, err
	}
	p := place{from: s.at, absent: true, first: true}
	p.to = p.from
	var value []byte
	for s.next() {
		p.first = false
		switch {
		case string(s.name) == name:
			s.take(&value)
			p.absent, p.to = false, s.at
			p.from = s.valueAt
		case p.absent:
			p.from, p.to = s.at, s.at
		}
	}
	return p, s.finish("object")
}
