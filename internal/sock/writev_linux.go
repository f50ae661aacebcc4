package sock

import "golang.org/x/sys/unix"

func writeBoth(fd int, head, body []byte) (int, error) {
	return unix.Writev(fd, [][]byte{head, body})
}

// writeLast has the system wait for more: closing the connection sends it with
// the end.
func writeLast(fd int, p []byte) (int, error) {
	return unix.SendmsgN(fd, p, nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
}
