//go:build unix && !linux

package sock

import "golang.org/x/sys/unix"

func writeBoth(fd int, head, body []byte) (int, error) {
	n, err := unix.Write(fd, head)
	if err != nil || n < len(head) {
		return n, err
	}
	m, err := unix.Write(fd, body)
	if err != nil {
		// What went out counts; a lasting error shows at the next write.
		return n, nil
	}
	return n + m, nil
}

func writeLast(fd int, p []byte) (int, error) { return unix.Write(fd, p) }
