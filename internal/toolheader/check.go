package toolheader

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Header is a header of a call.
type Header struct{ Name, Value string }

// Headers are those of a call with these arguments, JSON that was checked, or nil.
// There are none for arguments that are absent or null, or have no form as a
// header.
func (t *Tool) Headers(arguments []byte) []Header {
	a, err := find(t, arguments)
	if err != nil {
		return nil // whoever takes the call will say what is wrong with it
	}
	defer a.release()
	return a.headers(nil, &t.root)
}

func (a *arguments) headers(all []Header, n *node) []Header {
	for i := range n.children {
		c := &n.children[i]
		if c.header != "" {
			if text, ok := a.form(a.values[c.index]); ok {
				all = append(all, Header{c.header, Encode(text)})
			}
		}
		all = a.headers(all, c)
	}
	return all
}

// Fault says how the headers of a call do not repeat its arguments, JSON that was
// checked, or nil; "" if they do. headers has the values of the header of a name, in which case does
// not count.
func (t *Tool) Fault(arguments []byte, headers func(name string) [][]byte) string {
	a, err := find(t, arguments)
	if err != nil {
		return fmt.Sprintf("the arguments cannot be compared with their %s headers: %v", prefix, err)
	}
	defer a.release()
	return a.fault(&t.root, headers)
}

func (a *arguments) fault(n *node, headers func(name string) [][]byte) string {
	for i := range n.children {
		c := &n.children[i]
		if c.header != "" {
			if fault := a.faultOf(c, headers(c.header)); fault != "" {
				return fault
			}
		}
		if fault := a.fault(c, headers); fault != "" {
			return fault
		}
	}
	return ""
}

func (a *arguments) faultOf(n *node, values [][]byte) string {
	argument := a.values[n.index]
	switch {
	case len(values) > 1:
		return "there are two " + n.header + " headers"
	case len(values) == 0:
		if absent(argument) || !mirrored(argument) {
			return ""
		}
		return n.header + " is missing: it must repeat " + n.path
	case absent(argument):
		return n.header + " is there, but " + n.path + " is not"
	case !visible(values[0]):
		return n.header + " has characters that no header may have: encode it as =?base64?…?="
	}
	text, ok := Decode(values[0])
	if !ok {
		return n.header + " is not in padded Base64 of UTF-8, as its =?base64? announces"
	}
	if !a.equal(text, argument) {
		return n.header + " differs from " + n.path
	}
	return ""
}

// equal reports whether a header says what an argument is.
func (a *arguments) equal(text, argument []byte) bool {
	switch argument[0] {
	case '"':
		return bytes.Equal(text, textOf(&a.scratch, argument))
	case 't', 'f':
		return bytes.Equal(text, argument)
	case '{', '[':
		return false
	}
	return sameNumber(text, argument)
}

// form is an argument as text. It reports false for one that no header repeats.
func (a *arguments) form(argument []byte) (text string, ok bool) {
	if absent(argument) {
		return "", false
	}
	switch argument[0] {
	case '"':
		return string(textOf(&a.scratch, argument)), true
	case 't', 'f':
		return string(argument), true
	case '{', '[':
		return "", false
	}
	n, ok := safeInteger(argument)
	if !ok {
		return "", false
	}
	return strconv.FormatInt(n, 10), true
}

// mirrored reports whether an argument that is there has a form as a header.
func mirrored(argument []byte) bool {
	switch argument[0] {
	case '"', 't', 'f':
		return true
	case '{', '[':
		return false
	}
	_, ok := safeInteger(argument)
	return ok
}

// maxSafe is the largest integer that JavaScript tells from its neighbours.
const maxSafe = 1<<53 - 1

// safeInteger is a JSON number as the integer that it is, however it is spelled.
func safeInteger(number []byte) (n int64, ok bool) {
	f, err := strconv.ParseFloat(string(number), 64)
	if err != nil || f < -maxSafe || f > maxSafe || f != float64(int64(f)) {
		return 0, false
	}
	return int64(f), true
}

// sameNumber reports whether a header's text is the same number as a JSON number.
func sameNumber(text, number []byte) bool {
	if bytes.Equal(text, number) {
		return true
	}
	if len(text) == 0 || text[0] != '-' && (text[0] < '0' || text[0] > '9') || !jsontext.Value(text).IsValid() {
		return false
	}
	a, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return false
	}
	b, err := strconv.ParseFloat(string(number), 64)
	return err == nil && a == b && -maxSafe <= a && a <= maxSafe
}
