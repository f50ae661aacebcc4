//go:build race

package codec

// poison overwrites what is released, so that tests under the race detector
// fail where a borrowed view outlives its Buffer.
func poison(b []byte) {
	b = b[:cap(b)]
	for i := range b {
		b[i] = 0xdb
	}
}
