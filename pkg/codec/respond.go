package codec

// ModernResponse makes the JSON-RPC response, with the given raw id, of an
// answer of a far side to an ask of kind k: a result, which may be one of a
// revision with sessions, as a client of the stateless revision must get it.
//
//   - resultType "complete" is added;
//   - to a complete result of a list or a read, ttlMs 0 and cacheScope
//     "private" are added;
//   - to a complete CallTool result that has a structuredContent but no
//     content, content is added, with the structuredContent's JSON as text;
//   - serverInfo, raw, is added to _meta as MetaServerInfo; nil is none.
//
// What is there already stays, but null counts as absent; all else stays byte
// for byte. It fails if a member named here is there twice.
//
// frame, unless it is nil, is the Buffer whose bytes a was decoded of. Where
// little has to be changed the response is made in it, so that a large result
// is not copied: then it is returned with a Retain, and neither a nor frame.B
// are good any more.
func ModernResponse(frame *Buffer, a Answer, id []byte, k Kind, serverInfo []byte) (*Buffer, error) {
	p := patches{shape: a.shape, src: a.Body}
	if err := p.modern(k, serverInfo); err != nil {
		return nil, err
	}
	return p.respond(frame, id), nil
}

// LegacyResponse is ModernResponse for a client of a revision with sessions,
// and an answer that may be one of the stateless revision.
//
//   - From a CallTool result, a structuredContent that is no object is
//     removed;
//   - to a CallTool result that has a structuredContent but no content,
//     content is added, with the structuredContent's JSON as text;
//   - from the tools of a ListTools result, each outputSchema is removed whose
//     root is not of type object.
//
// It fails with ErrInputRequired for a result of that type.
func LegacyResponse(frame *Buffer, a Answer, id []byte, k Kind) (*Buffer, error) {
	switch {
	case a.shape.inputRequired:
		return nil, ErrInputRequired
	case k == ListTools && mayName(a.Body, "outputSchema"):
		out := GetBuffer(responseRoom + len(id) + len(a.Body))
		out.B = append(appendLegacyTools(appendResponseHead(out.B, id), a.Body), '}')
		return out, nil
	}
	p := patches{shape: a.shape, src: a.Body}
	if k == CallTool {
		p.legacyContent()
	}
	return p.respond(frame, id), nil
}

// What a response with a result has besides that and its id.
const (
	responseHead = len(`{"jsonrpc":"2.0","id":,"result":`)
	responseRoom = responseHead + len(`}`)
)

// respond makes the response of the result, patched.
func (p *patches) respond(frame *Buffer, id []byte) *Buffer {
	first := p.sort()
	if frame != nil && p.respondWithin(frame, id, first) {
		frame.Retain()
		return frame
	}
	room := responseRoom + len(id) + len(p.src) + len(p.info) + patchRoom
	if p.quotes() {
		room += 2 * len(p.value(memberStructured)) // mostly enough
	}
	out := GetBuffer(room)
	out.B = appendResponseHead(out.B, id)
	out.B = p.append(out.B, 0, p.src)
	out.B = append(out.B, '}')
	return out
}

// shortRest is how much of the end of a result is moved at most to make room
// before it.
const shortRest = 256

// respondWithin is respond around the bytes that are in frame, behind their
// tag, if all that changes is near their end. The first patch is given.
func (p *patches) respondWithin(frame *Buffer, id []byte, first int) bool {
	var moved [shortRest]byte
	switch {
	case len(p.src)-first > len(moved) || p.quotes():
		return false
	case cap(frame.B)-len(frame.B) < len(p.info)+patchRoom:
		return false
	case frame.front()+len(frame.B)-len(p.src) < responseHead+len(id):
		return false
	}
	rest := moved[:copy(moved[:], p.src[first:])]
	at := len(frame.B) - len(p.src)
	frame.B = append(p.append(frame.B[:at+first], first, rest), '}')
	head := responseHead + len(id)
	frame.precede(head - at)
	appendResponseHead(frame.B[:0], id)
	return true
}
