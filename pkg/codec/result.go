package codec

import "errors"

// ErrInputRequired is the failure of a result that asks the client for more
// input, which clients of revisions with sessions cannot be asked for so.
var ErrInputRequired = errors.New("the result asks the client for more input, which it can give only in revision 2026-07-28 or later")

// ResultShape is what decides how a result is handed on: members of its top
// level, as raw views of any type, nil where absent.
type ResultShape struct {
	ResultType []byte // a string or null
	TTL        []byte // ttlMs
	CacheScope []byte
	Meta       []byte // _meta
	Content    []byte
	Structured []byte // structuredContent

	Complete      bool // resultType is absent, null or "complete"
	InputRequired bool // resultType is "input_required"
}

// ParseResult looks at the top level of a result, whose syntax must have been
// checked, as DecodeAnswer does: it is not checked again. It fails if result
// is no object, has a member twice that ResultShape names, or has a resultType
// that is neither a string nor null.
func ParseResult(result []byte) (ResultShape, error) {
	r := found{src: result}
	if err := r.read(resultMembers); err != nil {
		return ResultShape{}, err
	}
	return r.ResultShape, nil
}

// The members of ResultShape, as indexes. Those that matter to clients of all
// revisions come first.
const (
	memberResultType = iota
	memberContent
	memberStructured
	memberTTL
	memberCacheScope
	memberMeta

	resultMembers
)

// found is a ResultShape with where its members are.
type found struct {
	ResultShape
	src   []byte
	at    [resultMembers]int // where the members' values begin; 0 for none
	last  int                // where the last member ends, or the opening brace
	empty bool               // there are no members

	structured cutting
}

// cutting is what goes with a member that is cut out.
type cutting struct {
	name      int // where its name begins
	last      int // where the member before it ends; 0 if there is none
	nextBegin int // where the member behind it begins; 0 if there is none
}

func (r *found) index(name []byte) int {
	switch string(name) {
	case "resultType":
		return memberResultType
	case "content":
		return memberContent
	case "structuredContent":
		return memberStructured
	case "ttlMs":
		return memberTTL
	case "cacheScope":
		return memberCacheScope
	case "_meta":
		return memberMeta
	}
	return -1
}

func (r *found) member(index int) *[]byte {
	switch index {
	case memberResultType:
		return &r.ResultType
	case memberContent:
		return &r.Content
	case memberStructured:
		return &r.Structured
	case memberTTL:
		return &r.TTL
	case memberCacheScope:
		return &r.CacheScope
	}
	return &r.Meta
}

// read finds the members in src. The first so many of them must not be there
// twice.
func (r *found) read(once int) error {
	w := walk(r.src)
	if !w.enter('{') {
		return shapeError("result must be an object")
	}
	r.last, r.empty = w.at, true
	for w.next() {
		if r.structured.name > 0 && r.structured.nextBegin == 0 {
			r.structured.nextBegin = w.nameAt
		}
		if i := r.index(w.name); i >= 0 {
			if r.at[i] > 0 && i < once {
				return duplicate("result", string(w.name))
			}
			*r.member(i), r.at[i] = w.value, w.valueAt
			if i == memberStructured {
				r.structured = cutting{name: w.nameAt, last: r.last}
				if r.empty {
					r.structured.last = 0
				}
			}
		}
		r.last, r.empty = w.at, false
	}
	if w.bad {
		return w.failure()
	}
	return r.judge(&w)
}

// judge sets what the resultType says.
func (r *found) judge(w *walker) error {
	switch {
	case absent(r.ResultType):
		r.Complete = true
		return nil
	case !isString(r.ResultType):
		return shapeError("resultType must be a string")
	}
	switch string(w.text(r.ResultType)) {
	case "complete":
		r.Complete = true
	case "input_required":
		r.InputRequired = true
	}
	return nil
}

// absent also takes null for absence.
func absent(value []byte) bool { return value == nil || isNull(value) }
