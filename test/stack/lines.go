package stack

import (
	"bufio"
	"io"
)

// longestLine bounds a line; what follows one that is longer is discarded.
const longestLine = 1 << 20

// deliver gives r line by line, and reads it to its end whatever becomes of the lines.
func deliver(r io.Reader, lines chan<- string) {
	defer close(lines)
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, longestLine)
	for scanner.Scan() {
		lines <- scanner.Text()
	}
	_, _ = io.Copy(io.Discard, r)
}
