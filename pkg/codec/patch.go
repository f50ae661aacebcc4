package codec

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// patches are changes of a result.
type patches struct {
	shape
	src  []byte
	info []byte // raw, for serverInfo
	all  [resultMembers]patch
	n    int
}

// patch says that src[from:to] becomes a value, or, if add is set, that a
// member with that value is added there.
type patch struct {
	from, to int
	value    patched
	add      bool
	first    bool // no member is before the added one
}

// patched is what a patch puts into a result.
type patched uint8

const (
	nothing patched = iota
	complete
	zeroTTL
	privateScope
	structuredText // content that has structuredContent as its text
	metaOfServer
	serverInfo
)

var patchedNames = [...]string{
	complete:       `"resultType":`,
	zeroTTL:        `"ttlMs":`,
	privateScope:   `"cacheScope":`,
	structuredText: `"content":`,
	metaOfServer:   `"_meta":`,
	serverInfo:     `"` + MetaServerInfo + `":`,
}

// patchRoom is what all of them may add, besides info and text.
const patchRoom = 256

func (p *patches) value(member int) []byte { return p.members[member].of(p.src) }

func (p *patches) put(q patch) {
	p.all[p.n] = q
	p.n++
}

// set gives a value to a member that is absent or null.
func (p *patches) set(member int, value patched) {
	if at := p.members[member]; at.from > 0 {
		p.put(patch{from: at.from, to: at.to, value: value})
		return
	}
	p.put(patch{from: p.last, to: p.last, value: value, add: true, first: p.empty})
	p.empty = false
}

// sort puts the patches in order. It returns where the first is, or the end.
func (p *patches) sort() (first int) {
	all := p.all[:p.n]
	slices.SortStableFunc(all, func(a, b patch) int { return a.from - b.from })
	if p.n == 0 {
		return len(p.src)
	}
	return all[0].from
}

// append appends the result from src[at] on, patched. The patches are sorted,
// and rest is src[at:].
func (p *patches) append(dst []byte, at int, rest []byte) []byte {
	for _, q := range p.all[:p.n] {
		dst = append(dst, rest[:q.from-at]...)
		rest = rest[q.to-at:]
		if at = q.to; q.add {
			if !q.first {
				dst = append(dst, ',')
			}
			dst = append(dst, patchedNames[q.value]...)
		}
		dst = p.appendValue(dst, q.value)
	}
	return append(dst, rest...)
}

func (p *patches) appendValue(dst []byte, value patched) []byte {
	switch value {
	case complete:
		return append(dst, `"complete"`...)
	case zeroTTL:
		return append(dst, '0')
	case privateScope:
		return append(dst, `"private"`...)
	case structuredText:
		dst = append(dst, `[{"type":"text","text":`...)
		dst, _ = jsontext.AppendQuote(dst, p.value(memberStructured)) // fails only after replacing
		return append(dst, `}]`...)
	case metaOfServer:
		dst = append(append(dst, '{'), patchedNames[serverInfo]...)
		return append(append(dst, p.info...), '}')
	case serverInfo:
		return append(dst, p.info...)
	}
	return dst
}

// quotes reports whether one of the patches quotes the structuredContent.
func (p *patches) quotes() bool {
	return slices.ContainsFunc(p.all[:p.n], func(q patch) bool { return q.value == structuredText })
}
