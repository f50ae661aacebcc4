package codec

import "errors"

// ErrInputRequired is the failure of handing a client of a revision with
// sessions a result that asks for more input, which only the stateless
// revision has.
var ErrInputRequired = errors.New("the result asks the client for more input, which it could give only in revision 2026-07-28")

// ResultShape is what decides how a result can be handed on: top-level members
// as raw views, of any type, nil where absent.
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

// ParseResult looks at a result's top level. It fails if result is no object,
// has a member twice that ResultShape names, or a resultType that is neither a
// string nor null.
func ParseResult(result []byte) (ResultShape, error) {
	s, err := scan(result)
	if err != nil {
		return ResultShape{}, err
	}
	defer s.release()
	r, err := s.result()
	if err != nil {
		return ResultShape{}, err
	}
	return r.ResultShape, nil
}

// scannedResult is a ResultShape with where its members are.
type scannedResult struct {
	ResultShape
	ends [resultMembers]int // of the members' values
	last int                // end of the last member, or of the opening brace
	none bool               // it has no members

	structuredAt   int // where structuredContent's name begins
	structuredFrom int // the end of the member before it, or 0 for none
	structuredTo   int // where the name of the member behind it begins, or 0 for none
}

// The members of ResultShape, as indexes.
const (
	memberResultType = iota
	memberTTL
	memberCacheScope
	memberMeta
	memberContent
	memberStructured
	resultMembers
)

func (r *scannedResult) member(name []byte) (member *[]byte, end *int) {
	switch string(name) {
	case "resultType":
		return &r.ResultType, &r.ends[memberResultType]
	case "ttlMs":
		return &r.TTL, &r.ends[memberTTL]
	case "cacheScope":
		return &r.CacheScope, &r.ends[memberCacheScope]
	case "_meta":
		return &r.Meta, &r.ends[memberMeta]
	case "content":
		return &r.Content, &r.ends[memberContent]
	case "structuredContent":
		return &r.Structured, &r.ends[memberStructured]
	}
	return nil, nil
}

func (s *scanner) result() (r scannedResult, err error) {
	if err := s.object("result"); err != nil {
		return r, err
	}
	r.last, r.none = s.offset(), true
	for s.next() {
		if r.structuredAt > 0 && r.structuredTo == 0 {
			r.structuredTo = s.nameAt
		}
		member, end := r.member(s.name)
		if member == &r.Structured {
			r.structuredAt = s.nameAt
			if !r.none {
				r.structuredFrom = r.last
			}
		}
		r.last, r.none = s.offset(), false
		if member != nil {
			s.take(member)
			*end = r.last
		}
	}
	if err := s.finish("result"); err != nil {
		return r, err
	}
	return r, r.judge()
}

// judge sets what the resultType says.
func (r *ResultShape) judge() error {
	switch {
	case r.ResultType == nil || isNull(r.ResultType):
		r.Complete = true
		return nil
	case !isString(r.ResultType):
		return shapeError("resultType must be a string")
	}
	switch string(unquote(r.ResultType)) {
	case "complete":
		r.Complete = true
	case "input_required":
		r.InputRequired = true
	}
	return nil
}
