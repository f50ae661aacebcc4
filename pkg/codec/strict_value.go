package codec

import "sync"

// maxDepth is how deep values nest at most (protocol D2).
const maxDepth = 10_000

// nest remembers which of the containers around a place are objects, one bit
// for each, as far as they do not fit a word.
type nest [maxDepth/64 + 1]uint64

var nests = sync.Pool{New: func() any { return new(nest) }}

// valueEnd reads a value, with the space before it, which is within so many
// containers.
func valueEnd(b []byte, i, depth int) (end int, bad fault) {
	var (
		deep    *nest
		objects uint64 // of the up to 64 innermost containers, those that are objects
		inner   int    // containers under way
		c       byte
	)

value:
	if i >= len(b) {
		goto ended
	}
	if c = b[i]; c <= ' ' {
		if i = spaceEnd(b, i); i >= len(b) {
			goto ended
		}
		c = b[i]
	}
	switch c {
	case '"':
		i, bad = stringEnd(b, i+1)
	case '{', '[':
		if depth+inner >= maxDepth {
			bad = faultDepth
			break
		}
		if inner&63 == 0 && inner > 0 {
			if deep == nil {
				deep = nests.Get().(*nest)
			}
			deep[inner/64] = objects
		}
		inner++
		objects <<= 1
		if i++; i < len(b) && b[i] <= ' ' {
			i = spaceEnd(b, i)
		}
		if i >= len(b) {
			goto ended
		}
		if b[i] == c+('}'-'{') {
			goto leave
		}
		if c == '[' {
			goto value
		}
		objects |= 1
		goto name
	case 't':
		i, bad = literalEnd(b, i, "true")
	case 'f':
		i, bad = literalEnd(b, i, "false")
	case 'n':
		i, bad = literalEnd(b, i, "null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		i, bad = numberEnd(b, i)
	default:
		bad = faultValue
	}
	if bad != 0 {
		goto done
	}

after:
	if inner == 0 {
		goto done
	}
	if i >= len(b) {
		goto ended
	}
	if c = b[i]; c <= ' ' {
		if i = spaceEnd(b, i); i >= len(b) {
			goto ended
		}
		c = b[i]
	}
	if objects&1 == 0 {
		switch c {
		case ',':
			i++
			goto value
		case ']':
			goto leave
		}
		bad = faultElement
		goto done
	}
	switch c {
	case ',':
		i++
		goto name
	case '}':
		goto leave
	}
	bad = faultMember
	goto done

leave:
	i++
	objects >>= 1
	if inner--; inner&63 == 0 && inner > 0 {
		objects = deep[inner/64]
	}
	goto after

name:
	if i < len(b) && b[i] <= ' ' {
		i = spaceEnd(b, i)
	}
	if i >= len(b) {
		goto ended
	}
	if b[i] != '"' {
		bad = faultName
		goto done
	}
	if i, bad = stringEnd(b, i+1); bad != 0 {
		goto done
	}
	if i < len(b) && b[i] == ':' {
		i++
		goto value
	}
	if i = spaceEnd(b, i); i >= len(b) {
		goto ended
	}
	if b[i] != ':' {
		bad = faultColon
		goto done
	}
	i++
	goto value

ended:
	i, bad = len(b), faultEnd

done:
	if deep != nil {
		nests.Put(deep)
	}
	return i, bad
}
