package codec

import "strconv"

// AppendBatch appends the elements of a JSON array, raw and borrowed, each for
// ParseMessage to judge. It fails with a *SyntaxError if b is not JSON, else
// with an *InvalidError if b is no array or has more than most elements; then
// dst is returned as it was. An array without elements is no failure.
func AppendBatch(dst [][]byte, b []byte, most int) ([][]byte, error) {
	s := scan(b)
	if !s.enter('[') {
		s.read()
		if err := s.end(); err != nil {
			return dst, err
		}
		return dst, &InvalidError{Reason: "it is no batch: a batch is an array"}
	}
	elements := dst
	n := 0
	for s.more(']') && s.read() {
		if n++; n <= most {
			elements = append(elements, s.value)
		}
	}
	if err := s.end(); err != nil {
		return dst, err
	}
	if n > most {
		return dst, &InvalidError{
			Reason: "it is a batch of " + strconv.Itoa(n) + " messages; send at most " + strconv.Itoa(most) + " at once",
			Batch:  true,
		}
	}
	return elements, nil
}
