package toolheader

import (
	"slices"
	"strings"
)

// prefix is what the names of the headers begin with.
const prefix = "Mcp-Param-"

// Tool is a tool some of whose arguments travel in headers. It does not change,
// and may be used concurrently.
type Tool struct {
	name  string
	root  node
	nodes int // without the root
	cost  int
}

// node is an argument, or a member of one: of which it is the member is above it.
type node struct {
	name     string
	index    int
	header   string // empty: only some of its members travel
	path     string // for people
	children []node // by name
}

// What a tool and a node cost besides their strings.
const (
	toolCost = 160
	nodeCost = 96
)

func newTool(name string, params []param) *Tool {
	t := &Tool{name: name, cost: toolCost + 2*len(name)}
	for i := range params {
		t.root.insert(params[i].path, params[i].header)
	}
	t.settle(&t.root, "params.arguments")
	return t
}

func (n *node) insert(path []string, header string) {
	if len(path) == 0 {
		n.header = header
		return
	}
	i := slices.IndexFunc(n.children, func(c node) bool { return c.name == path[0] })
	if i < 0 {
		i = len(n.children)
		n.children = append(n.children, node{name: path[0]})
	}
	n.children[i].insert(path[1:], header)
}

// settle numbers and sorts what is below n.
func (t *Tool) settle(n *node, path string) {
	slices.SortFunc(n.children, func(a, b node) int { return strings.Compare(a.name, b.name) })
	n.children = slices.Clip(n.children)
	for i := range n.children {
		c := &n.children[i]
		c.index, c.path = t.nodes, path+"."+c.name
		t.nodes++
		t.cost += nodeCost + len(c.name) + len(c.header) + len(c.path)
		t.settle(c, c.path)
	}
}

// child is the member of that name, or nil.
func (n *node) child(name []byte) *node {
	low, high := 0, len(n.children)
	for low < high {
		middle := int(uint(low+high) >> 1)
		switch c := &n.children[middle]; {
		case c.name == string(name):
			return c
		case c.name < string(name):
			low = middle + 1
		default:
			high = middle
		}
	}
	return nil
}

// Same reports whether two tools, either of which may be nil, have the same
// annotations.
func (t *Tool) Same(other *Tool) bool {
	if t == nil || other == nil {
		return t == other
	}
	return t.root.same(&other.root)
}

func (n *node) same(other *node) bool {
	return n.name == other.name && n.header == other.header &&
		slices.EqualFunc(n.children, other.children, func(a, b node) bool { return a.same(&b) })
}
