package codec

import "errors"

// ErrInputRequired is the failure of a result that asks the client for more
// input, which clients of revisions with sessions cannot be asked for so.
var ErrInputRequired = errors.New("the result asks the client for more input, which it can give only in revision 2026-07-28 or later")

// The members of a result's top level that decide how it is handed on, as
// indexes. Those that matter to clients of all revisions come first.
const (
	memberResultType = iota
	memberContent
	memberStructured
	memberTTL
	memberCacheScope
	memberMeta

	resultMembers
)

// once is how many of these members must not be there twice in a result of
// kind k, whoever the client is.
func (k Kind) once() int {
	if k == CallTool {
		return memberStructured + 1
	}
	return memberResultType + 1
}

var memberNames = [resultMembers]string{"resultType", "content", "structuredContent", "ttlMs", "cacheScope", "_meta"}

func memberIndex(name []byte) int {
	for i, member := range memberNames {
		if string(name) == member {
			return i
		}
	}
	return -1
}

// shape is where in a result these members are.
type shape struct {
	members [resultMembers]span
	twice   [resultMembers]bool
	last    int  // where the last member ends, or the opening brace
	empty   bool // there are no members

	complete      bool // resultType is absent, null or "complete"
	inputRequired bool // resultType is "input_required"

	structured cutting
}

// span is where a value is. No value is at 0.
type span struct{ from, to int }

func (at span) of(b []byte) []byte {
	if at.from == 0 {
		return nil
	}
	return b[at.from:at.to:at.to]
}

// cutting is what goes with a member that is cut out.
type cutting struct {
	name      int // where its name begins
	last      int // where the member before it ends; 0 if there is none
	nextBegin int // where the member behind it begins; 0 if there is none
}

// read checks that body is JSON, and finds the members in it. It returns the
// value of the member with the given name too, as found says.
func (r *shape) read(body []byte, name string) (found []byte, err error) {
	s := scan(body)
	if err := s.object("result"); err != nil {
		return nil, err
	}
	r.last, r.empty = s.at, true
	for s.next() {
		if r.structured.name > 0 && r.structured.nextBegin == 0 {
			r.structured.nextBegin = s.nameAt
		}
		if string(s.name) == name {
			s.take(&found)
		}
		if i := memberIndex(s.name); i >= 0 {
			r.twice[i] = r.twice[i] || r.members[i].from > 0
			r.members[i] = span{s.valueAt, s.at}
			if i == memberStructured {
				r.structured = cutting{name: s.nameAt, last: r.last}
				if r.empty {
					r.structured.last = 0
				}
			}
		}
		r.last, r.empty = s.at, false
	}
	if err := s.finish("result"); err != nil {
		return nil, err
	}
	return found, r.judge(body)
}

// judge sets what the resultType says.
func (r *shape) judge(body []byte) error {
	value := r.members[memberResultType].of(body)
	switch {
	case r.twice[memberResultType]:
		return r.unique(memberResultType + 1)
	case absent(value):
		r.complete = true
		return nil
	case !isString(value):
		return shapeError("resultType must be a string")
	}
	switch string(unquote(value)) {
	case "complete":
		r.complete = true
	case "input_required":
		r.inputRequired = true
	}
	return nil
}

// unique fails if one of the first so many members is there twice.
func (r *shape) unique(members int) error {
	for i, twice := range r.twice[:members] {
		if twice {
			return duplicate("result", memberNames[i])
		}
	}
	return nil
}

// absent also takes null for absence.
func absent(value []byte) bool { return value == nil || isNull(value) }
