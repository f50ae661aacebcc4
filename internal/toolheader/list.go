package toolheader

import (
	"bytes"
	"errors"
	"unicode/utf8"
)

// Key is the member of a property's schema that has its value travel in a header.
const Key = "x-mcp-header"

// Mentioned reports whether the result of a tools/list may hold annotations: that
// is cheap, and saves reading it. One whose name is spelled with escapes is missed.
func Mentioned(result []byte) bool { return bytes.Contains(result, []byte(Key)) }

// Page is what the result of a tools/list says of its tools. It borrows the result.
type Page struct {
	// Next is the cursor of the next page, raw JSON; nil if this is the last one.
	Next []byte
	// Invalid are the tools whose annotations break the rules.
	Invalid []Invalid

	tools []listed
}

// Invalid is a tool that counts as one without annotations, and why.
type Invalid struct {
	Name   string
	Reason error
}

type listed struct {
	name []byte
	tool *Tool // nil: its calls have no headers of their own
}

// Annotated reports whether there are valid annotations on the page.
func (p *Page) Annotated() bool {
	for i := range p.tools {
		if p.tools[i].tool != nil {
			return true
		}
	}
	return false
}

var (
	errUTF8     = errors.New("the result is not UTF-8")
	errNoList   = errors.New("the result has no array tools")
	errTwoLists = errors.New("the result has two members of one name")
)

// Read reads the result of a tools/list. It fails if that is not JSON, or no object
// with an array tools; a tool that cannot be read is left out.
func Read(result []byte) (p Page, err error) {
	if !utf8.Valid(result) {
		return Page{}, errUTF8
	}
	var r reader
	r.reset(result, lenient)
	entered, err := r.enter('{')
	if err != nil {
		return Page{}, err
	}
	lists, cursors := 0, 0
	for more := entered; more; {
		if more, err = r.member(); !more {
			break
		}
		switch string(r.name) {
		case "tools":
			lists++
			err = p.readTools(&r)
		case "nextCursor":
			cursors++
			p.Next, err = r.value()
		default:
			err = r.dec.SkipValue()
		}
		if err != nil {
			break
		}
	}
	switch {
	case err != nil:
	case lists > 1 || cursors > 1:
		err = errTwoLists
	case p.tools == nil:
		err = errNoList
	default:
		err = r.end()
	}
	if err != nil {
		return Page{}, err
	}
	if !isString(p.Next) {
		p.Next = nil
	}
	return p, nil
}

func (p *Page) readTools(r *reader) error {
	entered, err := r.enter('[')
	if !entered || err != nil {
		return err
	}
	p.tools = []listed{}
	for {
		more, err := r.more(']')
		if !more || err != nil {
			return err
		}
		raw, err := r.value()
		if err != nil {
			return err
		}
		p.add(raw)
	}
}

func (p *Page) add(raw []byte) {
	if !Mentioned(raw) {
		if name := nameOf(raw); name != nil {
			p.tools = append(p.tools, listed{name: name})
		}
		return
	}
	s := schema{}
	name, err := s.tool(raw)
	if err != nil {
		if name = nameOf(raw); name == nil {
			return
		}
		p.Invalid = append(p.Invalid, Invalid{string(name), err})
	}
	if name != nil {
		p.tools = append(p.tools, listed{name, s.built(name, err)})
	}
}

// nameOf is the name of a tool; nil if it has none, or several.
func nameOf(raw []byte) (name []byte) {
	var r reader
	r.reset(raw, lenient)
	more, err := r.enter('{')
	for more && err == nil {
		if more, err = r.member(); !more {
			break
		}
		if string(r.name) != "name" {
			err = r.dec.SkipValue()
			continue
		}
		value, failed := r.value()
		if failed != nil || name != nil || !isString(value) {
			return nil
		}
		var text []byte
		name = textOf(&text, value)
	}
	if err != nil {
		return nil
	}
	return name
}
