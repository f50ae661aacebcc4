package codec

import "strconv"

// modern finds what ModernResponse changes.
func (p *patches) modern(k Kind, serverInfo []byte) error {
	p.info = serverInfo
	if err := p.unique(resultMembers); err != nil {
		return err
	}
	if p.complete {
		p.makeComplete(k)
	}
	if serverInfo != nil {
		return p.identify()
	}
	return nil
}

func (p *patches) makeComplete(k Kind) {
	if absent(p.value(memberResultType)) {
		p.set(memberResultType, complete)
	}
	if k.Known() && kinds[k].cached {
		if absent(p.value(memberTTL)) {
			p.set(memberTTL, zeroTTL)
		}
		if absent(p.value(memberCacheScope)) {
			p.set(memberCacheScope, privateScope)
		}
	}
	if k == CallTool && absent(p.value(memberContent)) && p.value(memberStructured) != nil {
		p.set(memberContent, structuredText)
	}
}

// identify says in _meta which server answered, unless that is said.
func (p *patches) identify() error {
	meta := p.value(memberMeta)
	if absent(meta) {
		p.set(memberMeta, metaOfServer)
		return nil
	}
	s := scan(meta)
	if !s.enter('{') {
		return nil // the client will say what it thinks of that
	}
	first := true
	for s.next() {
		if string(s.name) == MetaServerInfo {
			return nil
		}
		first = false
	}
	at := p.members[memberMeta].to - len("}")
	p.put(patch{from: at, to: at, value: serverInfo, add: true, first: first})
	return s.err
}

// AppendModernError appends a far side's error object as a client of the
// stateless revision may get it, and returns the code that it has there. Codes
// which that revision gave up, or reserves without defining them, become
// others: -32002 (resource not found) becomes -32602, the rest -32603. All
// else stays byte for byte. It fails as ParseError does, and then returns dst
// as it was.
func AppendModernError(dst, errorObject []byte) (out []byte, code int32, err error) {
	raw, err := scanError(errorObject)
	if err != nil {
		return dst, 0, err
	}
	code = modernCode(raw.code)
	if code == raw.code {
		return append(dst, errorObject...), code, nil
	}
	dst = append(dst, errorObject[:raw.codeAt]...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	return append(dst, errorObject[raw.codeEnd:]...), code, nil
}

func modernCode(code int32) int32 {
	switch {
	case code == -32002:
		return -32602
	case code == -32020, code == -32021, code == -32022: // header mismatch, missing capability, unsupported revision
		return code
	case -32099 <= code && code <= -32020:
		return -32603
	}
	return code
}
