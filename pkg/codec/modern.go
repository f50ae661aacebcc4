package codec

import "strconv"

// AppendModernResult appends a far side's result of an ask of kind k, which
// may be one of a revision with sessions, as a client of the stateless
// revision must get it:
//
//   - resultType "complete" is added;
//   - to a complete result of a list or a read, ttlMs 0 and cacheScope
//     "private" are added;
//   - to a complete CallTool result that has a structuredContent but no
//     content, content is added, with the structuredContent's JSON as text;
//   - serverInfo, raw, is added to _meta as MetaServerInfo; nil is none.
//
// What is there already stays, but null counts as absent; all else stays byte
// for byte. The result's syntax must have been checked, as for ParseResult. It
// fails as that does, and then returns dst as it was.
func AppendModernResult(dst, result []byte, k Kind, serverInfo []byte) ([]byte, error) {
	p := patches{found: found{src: result}}
	if err := p.read(resultMembers); err != nil {
		return dst, err
	}
	if p.Complete {
		p.complete(k)
	}
	if serverInfo != nil {
		if err := p.serverInfo(serverInfo); err != nil {
			return dst, err
		}
	}
	return p.append(dst), nil
}

func (p *patches) complete(k Kind) {
	if absent(p.ResultType) {
		p.set(memberResultType, "resultType", value{before: `"complete"`})
	}
	if k.Known() && kinds[k].cached {
		if absent(p.TTL) {
			p.set(memberTTL, "ttlMs", value{before: `0`})
		}
		if absent(p.CacheScope) {
			p.set(memberCacheScope, "cacheScope", value{before: `"private"`})
		}
	}
	if k == CallTool && absent(p.Content) && p.Structured != nil {
		p.set(memberContent, "content", text(p.Structured))
	}
}

func (p *patches) serverInfo(info []byte) error {
	if absent(p.Meta) {
		p.set(memberMeta, "_meta", value{before: `{"` + MetaServerInfo + `":`, with: info, after: `}`})
		return nil
	}
	w := walk(p.Meta)
	if !w.enter('{') {
		return nil // the client will say what it thinks of that
	}
	first := true
	for w.next() {
		if string(w.name) == MetaServerInfo {
			return nil
		}
		first = false
	}
	if w.bad {
		return w.failure()
	}
	at := p.at[memberMeta] + len(p.Meta) - len("}")
	p.put(patch{from: at, to: at, name: MetaServerInfo, first: first, value: value{with: info}})
	return nil
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
