package codec

// CheckJSON reports, as a *SyntaxError, why b is not exactly one JSON value
// with optional space around it (protocol D2). It is strict: RFC 8259, valid
// UTF-8, nesting up to 10,000 deep. It does not mind duplicate names and
// escaped lone surrogates. It does not allocate, and may be called
// concurrently.
func CheckJSON(b []byte) error {
	s := scan(b)
	s.read()
	return s.end()
}

// Member returns the member of an object that has the given name, however the
// object spells it, as a raw view; nil if there is none. It fails if there is
// more than one (protocol D2), or if object is no JSON object.
func Member(object []byte, name string) ([]byte, error) {
	s := scan(object)
	if err := s.object("value"); err != nil {
		return nil, err
	}
	var value []byte
	for s.next() {
		if string(s.name) == name {
			s.take(&value)
		}
	}
	if err := s.finish("object"); err != nil {
		return nil, err
	}
	return value, nil
}
