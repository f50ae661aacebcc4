package limit

import (
	"bufio"
	"io/fs"
	"strconv"
	"strings"
)

// memoryOfMachine is what meminfo, which Linux has, says in proc; 0 elsewhere.
func memoryOfMachine(proc fs.FS) int64 {
	file, err := proc.Open("meminfo")
	if err != nil {
		return 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemTotal:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			if err != nil || kib <= 0 || kib > 1<<50 {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}
