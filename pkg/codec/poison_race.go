//go:build race

package codec

import "bytes"

var poisonous = bytes.Repeat([]byte{0xdb}, 64<<10)

// poison overwrites what is released, so that tests under the race detector
// fail where a borrowed view outlives its Buffer.
func poison(b []byte) {
	for b = b[:cap(b)]; len(b) > 0; {
		b = b[copy(b, poisonous):]
	}
}
