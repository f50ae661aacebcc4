package codec

// AppendUnsubscribed appends a notification's params without the
// MetaSubscriptionID in their _meta, and without a _meta that is empty then:
// as they were before AppendSubscribed. All else stays byte for byte. params
// may be nil, for none. It fails, and returns dst as it was, if params are no
// JSON object, or have more than one _meta.
func AppendUnsubscribed(dst, params []byte) ([]byte, error) {
	if params == nil {
		return dst, nil
	}
	p, err := find(params, "_meta")
	if err != nil {
		return dst, err
	}
	meta := params[p.from:p.to]
	if p.absent || !isObject(meta) {
		return append(dst, params...), nil
	}
	s := scan(meta)
	if err := s.object("_meta"); err != nil {
		return dst, err
	}
	out, rest := append(dst, params[:p.from]...), params[p.to:]
	c := cutter{dst: out, src: meta}
	c.enter(s.at)
	for s.next() {
		if string(s.name) == MetaSubscriptionID {
			c.drop(s.nameAt, s.at)
		} else {
			c.keep(s.nameAt, s.at)
		}
	}
	if err := s.finish("_meta"); err != nil {
		return dst, err
	}
	if c.kept == 0 && c.cut > 0 {
		out, rest = withoutMember(out, len(dst), rest)
	} else {
		out = c.rest()
	}
	return append(out, rest...), nil
}
