package mux

const maxIDLength = 128

// ValidID reports whether id can name a container (protocol G3): 1 to 128
// characters of A-Z a-z 0-9 . _ -, not starting with a dot.
func ValidID(id []byte) bool {
	if len(id) == 0 || len(id) > maxIDLength || id[0] == '.' {
		return false
	}
	for _, b := range id {
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '.', b == '_', b == '-':
		default:
			return false
		}
	}
	return true
}
