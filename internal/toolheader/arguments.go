package toolheader

import (
	"fmt"
	"sync"
)

// arguments are those of one call that travel in headers.
type arguments struct {
	reader
	values  [][]byte // by the index of their node; nil where there is none
	scratch []byte
}

var idle = sync.Pool{New: func() any { return new(arguments) }}

// maxScratch is how much room for text is kept for the next call.
const maxScratch = 4 << 10

// find looks for the arguments of a tool in raw, an object or nothing. The
// arguments must be released. It fails if one of them is there twice.
func find(t *Tool, raw []byte) (*arguments, error) {
	a := idle.Get().(*arguments)
	if cap(a.values) < t.nodes {
		a.values = make([][]byte, t.nodes)
	}
	a.values = a.values[:t.nodes]
	if absent(raw) {
		return a, nil
	}
	a.reset(raw, lenient)
	err := a.read(&t.root)
	if err == nil {
		err = a.end()
	}
	if err != nil {
		a.release()
		return nil, err
	}
	return a, nil
}

func (a *arguments) release() {
	a.reset(nil, lenient)
	clear(a.values)
	a.values, a.name = a.values[:0], nil
	if cap(a.text) > maxScratch {
		a.text = nil
	}
	if cap(a.scratch) > maxScratch {
		a.scratch = nil
	}
	idle.Put(a)
}

// members stands for an object that was read member by member.
var members = []byte("{}")

// read reads the value of a node.
func (a *arguments) read(n *node) error {
	more, err := a.enter('{')
	for more && err == nil {
		if more, err = a.member(); !more {
			break
		}
		c := n.child(a.name)
		switch {
		case c == nil:
			err = a.dec.SkipValue()
		case a.values[c.index] != nil:
			err = fmt.Errorf("%s is there twice", c.path)
		case len(c.children) > 0 && a.kind() == '{':
			a.values[c.index] = members
			err = a.read(c)
		default:
			a.values[c.index], err = a.value()
		}
	}
	return err
}
