package codec

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

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

// patches collects what changes in a result.
type patches struct {
	r   *scannedResult
	all [resultMembers]patch
	n   int
}

// patch says that src[from:to] becomes another value. With a name that is
// added as a member, and to is from.
type patch struct {
	from, to int
	name     string
	first    bool // no member is before the one added
	value    value
}

func (p *patches) put(q patch) {
	p.all[p.n] = q
	p.n++
}

// set gives a value to a top-level member that is absent or null.
func (p *patches) set(member int, name string, v value) {
	if end := p.r.ends[member]; end > 0 {
		p.put(patch{from: end - len("null"), to: end, value: v})
		return
	}
	p.put(patch{from: p.r.last, to: p.r.last, name: name, first: p.r.none, value: v})
	p.r.none = false
}

func (p *patches) append(dst, src []byte) []byte {
	all := p.all[:p.n]
	slices.SortStableFunc(all, func(a, b patch) int { return a.from - b.from })
	at := 0
	for i := range all {
		q := &all[i]
		dst = append(dst, src[at:q.from]...)
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
	return append(dst, src[at:]...)
}

// text is content that has a structuredContent as text.
func text(structured []byte) value {
	return value{before: `[{"type":"text","text":`, with: structured, quoted: true, after: `}]`}
}

func absent(value []byte) bool { return value == nil || isNull(value) }
