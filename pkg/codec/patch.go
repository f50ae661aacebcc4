package codec

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// patches are changes of a result.
type patches struct {
	found
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

func (p *patches) put(q patch) {
	p.all[p.n] = q
	p.n++
}

// set gives a value to a member that is absent or null.
func (p *patches) set(member int, value patched) {
	if at := p.at[member]; at > 0 {
		p.put(patch{from: at, to: at + len(*p.member(member)), value: value})
		return
	}
	p.put(patch{from: p.last, to: p.last, value: value, add: true, first: p.empty})
	p.empty = false
}

// append appends the result, patched.
func (p *patches) append(dst []byte) []byte {
	all := p.all[:p.n]
	slices.SortStableFunc(all, func(a, b patch) int { return a.from - b.from })
	at := 0
	for _, q := range all {
		dst = append(dst, p.src[at:q.from]...)
		if q.add {
			if !q.first {
				dst = append(dst, ',')
			}
			dst = append(dst, patchedNames[q.value]...)
		}
		dst = p.appendValue(dst, q.value)
		at = q.to
	}
	return append(dst, p.src[at:]...)
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
		dst, _ = jsontext.AppendQuote(dst, p.Structured) // fails only after replacing
		return append(dst, `}]`...)
	case metaOfServer:
		dst = append(append(dst, '{'), patchedNames[serverInfo]...)
		return append(append(dst, p.info...), '}')
	case serverInfo:
		return append(dst, p.info...)
	}
	return dst
}
