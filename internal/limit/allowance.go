package limit

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// Where an Allowance was found.
const (
	FromEnvironment = "GOMEMLIMIT"
	FromCgroup      = "cgroup"
	FromMachine     = "machine"
)

// Allowance is the memory that a process may use.
type Allowance struct {
	// Limit is what the runtime is held to, in bytes; 0: to nothing.
	Limit int64
	// Memory is what there is of it, in bytes: the limit or, without one, that of
	// the machine. 0: nobody knows.
	Memory int64
	// Source says where that was found; "" if nowhere.
	Source string
}

// cgroupShare of a cgroup's memory is the runtime's, in per cent: the kernel counts
// the buffers of sockets, and more, as the cgroup's as well.
const cgroupShare = 90

// Allow finds out what the process may use: what GOMEMLIMIT says, or else 90 % of
// what its cgroup may, which it has the runtime held to from now on.
func Allow() Allowance {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return Allowance{Limit: limit, Memory: limit, Source: FromEnvironment}
	}
	machine := memoryOfMachine(os.DirFS("/proc"))
	if limit := cgroupLimit("/"); limit > 0 && (machine == 0 || limit < machine) {
		limit = limit / 100 * cgroupShare
		debug.SetMemoryLimit(limit)
		return Allowance{Limit: limit, Memory: limit, Source: FromCgroup}
	}
	if machine == 0 {
		return Allowance{}
	}
	return Allowance{Memory: machine, Source: FromMachine}
}

// cgroupLimit is the least memory limit of the process's cgroup and those that it
// is in, in bytes, of version 1 or 2; 0 if there is none. root is the root of the
// file system.
func cgroupLimit(root string) int64 {
	file, err := os.Open(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return 0
	}
	defer file.Close()
	least := int64(0)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		// hierarchy:controllers:path
		fields := strings.SplitN(lines.Text(), ":", 3)
		if len(fields) < 3 {
			continue
		}
		mount, name := "", ""
		switch {
		case fields[1] == "":
			mount, name = "sys/fs/cgroup", "memory.max"
		case listed(fields[1], "memory"):
			mount, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		// In a container the path may be the host's, and the root of the mount ours.
		for at := path.Join("/", fields[2]); ; at = path.Dir(at) {
			if limit := limitIn(filepath.Join(root, mount, at, name)); limit > 0 && (least == 0 || limit < least) {
				least = limit
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}

func listed(list, name string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if one == name {
			return true
		}
	}
	return false
}

// limitIn reads a file that holds a number of bytes; 0 for none: "max", or what
// version 1 says in its place, which no machine has.
func limitIn(file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil || n <= 0 || n >= 1<<60 {
		return 0
	}
	return n
}
