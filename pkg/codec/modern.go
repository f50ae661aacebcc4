package codec

import "strconv"

// AppendModernResult appends a far side's result of an ask of kind k, which
// may be one of a revision with sessions, as a client of the stateless
// revision must get it:
//
//   - resultType "complete" is added, unless it is there;
//   - to a complete result of a list or a read are added ttlMs 0 and
//     cacheScope "private";
//   - a complete CallTool result without content is given its
//     structuredContent as text;
//   - serverInfo, raw, is added to _meta as MetaServerInfo; nil is none.
//
// Nothing that is there is changed, but null counts as absent. All else stays
// byte for byte. It fails as ParseResult does, and then returns dst as it was.
func AppendModernResult(dst, result []byte, k Kind, serverInfo []byte) ([]byte, error) {
	s, err := scan(result)
	if err != nil {
		return dst, err
	}
	defer s.release()
	r, err := s.result()
	if err != nil {
		return dst, err
	}
	p := patches{r: &r}
	if r.Complete {
		p.complete(k)
	}
	if serverInfo != nil {
		if err := p.serverInfo(serverInfo); err != nil {
			return dst, err
		}
	}
	return p.append(dst, result), nil
}

func (p *patches) complete(k Kind) {
	if absent(p.r.ResultType) {
		p.set(memberResultType, "resultType", value{before: `"complete"`})
	}
	if k.Known() && kinds[k].cached {
		if absent(p.r.TTL) {
			p.set(memberTTL, "ttlMs", value{before: `0`})
		}
		if absent(p.r.CacheScope) {
			p.set(memberCacheScope, "cacheScope", value{before: `"private"`})
		}
	}
	if k == CallTool && absent(p.r.Content) && p.r.Structured != nil {
		p.set(memberContent, "content", text(p.r.Structured))
	}
}

func (p *patches) serverInfo(info []byte) error {
	meta := p.r.Meta
	if absent(meta) {
		p.set(memberMeta, "_meta", value{before: `{"` + MetaServerInfo + `":`, with: info, after: `}`})
		return nil
	}
	if !isObject(meta) {
		return nil // the client will say what it thinks of that
	}
	s, err := scan(meta)
	if err != nil {
		return err
	}
	defer s.release()
	if err := s.object("_meta"); err != nil {
		return err
	}
	there, first := false, true
	for s.next() {
		first = false
		there = there || string(s.name) == MetaServerInfo
	}
	if err := s.finish("_meta"); err != nil {
		return err
	}
	if !there {
		at := p.r.ends[memberMeta] - len("}")
		p.put(patch{from: at, to: at, name: MetaServerInfo, first: first, value: value{with: info}})
	}
	return nil
}

// AppendModernError appends a far side's error object as a client of the
// stateless revision may get it, and returns the code that it has then. Codes
// which that revision abolished, or reserves and does not define, are replaced:
// -32002 (resource not found) by -32602, others by -32603. All else stays
// byte for byte. It fails as ParseError does, and then returns dst as it was.
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
