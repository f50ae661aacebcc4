package codec

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// patches are changes of a result.
type patches struct {
	found
	all [resultMembers]patch
	n   int
}

// patch says that src[from:to] becomes another value: that of a member to be
// added there, if there is a name.
type patch struct {
	from, to int
	name     string
	first    bool // no member is before the added one
	value    value
}

// value is JSON to be written.
type value struct {
	before string
	with   []byte
	quoted bool // with becomes a string
	after  string
}

func (v *value) append(dst []byte) []byte {
	dst = append(dst, v.before...)
	if v.quoted {
		dst, _ = jsontext.AppendQuote(dst, v.with) // fails only after replacing
	} else {
		dst = append(dst, v.with...)
	}
	return append(dst, v.after...)
}

// text is content that says as text what a structuredContent does.
func text(structured []byte) value {
	return value{before: `[{"type":"text","text":`, with: structured, quoted: true, after: `}]`}
}

func (p *patches) put(q patch) {
	p.all[p.n] = q
	p.n++
}

// set gives a value to a member that is absent or null.
func (p *patches) set(member int, name string, v value) {
	if at := p.at[member]; at > 0 {
		p.put(patch{from: at, to: at + len(*p.member(member)), value: v})
		return
	}
	p.put(patch{from: p.last, to: p.last, name: name, first: p.empty, value: v})
	p.empty = false
}

// append appends the result, patched.
func (p *patches) append(dst []byte) []byte {
	all := p.all[:p.n]
	slices.SortStableFunc(all, func(a, b patch) int { return a.from - b.from })
	at := 0
	for i := range all {
		q := &all[i]
		dst = append(dst, p.src[at:q.from]...)
		if q.name != "" {
			if !q.first {
				dst = append(dst, ',')
			}
			dst = append(dst, '"')
			dst = append(dst, q.name...)
			dst = append(dst, `":`...)
		}
		dst = q.value.append(dst)
		at = q.to
	}
	return append(dst, p.src[at:]...)
}
