package sock

import "golang.org/x/sys/unix"

func writeBoth(fd int, head, body []byte) (int, error) {
	return unix.Writev(fd, [][]byte{head, body})
}
