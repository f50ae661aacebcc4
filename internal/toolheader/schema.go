package toolheader

import (
	"errors"
	"fmt"
	"strings"
)

const (
	// maxParams is how many annotations a tool may have.
	maxParams = 64
	// maxDepth is how many schemas deep one is read.
	maxDepth = 32
)

var (
	errTooMany  = fmt.Errorf("it has more than %d annotations", maxParams)
	errTooDeep  = fmt.Errorf("its inputSchema is more than %d schemas deep", maxDepth)
	errNoName   = errors.New("its name is no string")
	errMisplace = errors.New(Key + " is where not only properties lead to")
)

// schema reads the definition of one tool.
type schema struct {
	reader
	path   []string // to where it is; nil where not only properties lead
	depth  int
	params []param
}

// param is one annotated property.
type param struct {
	path   []string
	header string // with its prefix
}

// tool reads a tool. What it returns is a view of raw, as far as that can be.
func (s *schema) tool(raw []byte) (name []byte, err error) {
	s.reset(raw, strict)
	more, err := s.enter('{')
	for more && err == nil {
		if more, err = s.member(); !more {
			break
		}
		switch string(s.name) {
		case "name":
			var value, text []byte
			if value, err = s.value(); err == nil && !isString(value) {
				return nil, errNoName
			}
			name = textOf(&text, value)
		case "inputSchema":
			s.path = []string{}
			err = s.read()
		default:
			err = s.dec.SkipValue()
		}
	}
	return name, err
}

// read reads a schema.
func (s *schema) read() (err error) {
	if s.depth++; s.depth > maxDepth {
		return errTooDeep
	}
	defer func() { s.depth-- }()
	more, err := s.enter('{') // there are true and false, too
	var header, kind []byte
	for more && err == nil {
		if more, err = s.member(); !more {
			break
		}
		switch name := string(s.name); name {
		case Key:
			header, err = s.value()
		case "type":
			kind, err = s.value()
		case "properties":
			err = s.properties()
		case "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions":
			err = s.elsewhere(s.members)
		case "items", "prefixItems", "additionalItems", "contains", "unevaluatedItems",
			"additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema",
			"oneOf", "anyOf", "allOf", "not", "if", "then", "else":
			err = s.elsewhere(s.elements)
		default:
			err = s.dec.SkipValue()
		}
	}
	if err != nil || header == nil {
		return err
	}
	return s.annotated(header, kind)
}

// properties reads the schemas that a property's value has.
func (s *schema) properties() error {
	more, err := s.enter('{')
	for more && err == nil {
		if more, err = s.member(); !more {
			break
		}
		if s.path == nil {
			err = s.read()
			continue
		}
		s.path = append(s.path, string(s.name))
		err = s.read()
		s.path = s.path[:len(s.path)-1]
	}
	return err
}

// elsewhere reads schemas to which not only properties lead.
func (s *schema) elsewhere(read func() error) error {
	path := s.path
	s.path = nil
	err := read()
	s.path = path
	return err
}

// members reads an object of schemas.
func (s *schema) members() error {
	more, err := s.enter('{')
	for more && err == nil {
		if more, err = s.member(); more {
			err = s.read()
		}
	}
	return err
}

// elements reads a schema, or an array of them.
func (s *schema) elements() error {
	if s.kind() != '[' {
		return s.read()
	}
	more, err := s.enter('[')
	for more && err == nil {
		if more, err = s.more(']'); more {
			err = s.read()
		}
	}
	return err
}

// annotated takes the annotation of the schema that was read, or says what is
// wrong with it.
func (s *schema) annotated(header, kind []byte) error {
	var text []byte
	if len(s.path) == 0 {
		return errMisplace
	}
	at := strings.Join(s.path, ".")
	if !isString(header) || !isToken(textOf(&text, header)) {
		return fmt.Errorf("%s of %q is %.100s: it must be a token, as HTTP has them", Key, at, header)
	}
	name := prefix + string(textOf(&text, header))
	switch {
	case !isString(kind):
		return fmt.Errorf("%s is on %q, whose type is not one of string, integer and boolean", Key, at)
	case !headerType(textOf(&text, kind)):
		return fmt.Errorf("%s is on %q of the type %.100s: there are string, integer and boolean", Key, at, kind)
	case len(s.params) == maxParams:
		return errTooMany
	}
	for i := range s.params {
		if strings.EqualFold(s.params[i].header, name) {
			return fmt.Errorf("two properties have the %s %q", Key, name[len(prefix):])
		}
	}
	s.params = append(s.params, param{append([]string(nil), s.path...), name})
	return nil
}

func headerType(name []byte) bool {
	switch string(name) {
	case "string", "integer", "boolean":
		return true
	}
	return false
}

// built is the tool that was read, nil if it has no annotations, or invalid ones.
func (s *schema) built(name []byte, err error) *Tool {
	if err != nil || len(s.params) == 0 {
		return nil
	}
	return newTool(string(name), s.params)
}
