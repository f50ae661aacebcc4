//go:build linux

package suite

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// Micro are Go benchmarks of single operations.
type Micro struct {
	Operations []Operation `json:"operations"`
}

// Operation is one of them.
type Operation struct {
	Name      string  `json:"name"`
	NS        float64 `json:"ns"`
	MB        float64 `json:"mb_s,omitempty"` // a second
	Allocs    float64 `json:"allocs"`
	BytesEach float64 `json:"bytes"`
}

// MeasureMicro runs them. It is go test that does, in the module's folder.
func MeasureMicro(p Plan) (*Micro, error) {
	m := new(Micro)
	for _, of := range []struct{ pkg, bench, full, short string }{
		{"./pkg/codec", "Operation", "100ms", "10ms"},
		{"./bench/suite", "Encode", "200ms", "20ms"},
		{"./pkg/mux", "Table", "60ms", "5ms"},
	} {
		cmd := exec.Command("go", "test", "-run", "^$", "-bench", of.bench, "-benchmem", "-benchtime", pick(p, of.full, of.short), of.pkg)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, out)
		}
		m.Operations = append(m.Operations, parseOperations(out)...)
	}
	return m, nil
}

// parseOperations reads go test's lines.
func parseOperations(out []byte) (all []Operation) {
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		if at := strings.LastIndexByte(name, '-'); at >= 0 { // the number of processors
			name = name[:at]
		}
		o := Operation{Name: name}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				continue
			}
			switch fields[i+1] {
			case "ns/op":
				o.NS = v
			case "MB/s":
				o.MB = v
			case "allocs/op":
				o.Allocs = v
			case "B/op":
				o.BytesEach = v
			}
		}
		all = append(all, o)
	}
	return all
}

// Of is the operation of that name; its time is 0 if there is none.
func (m *Micro) Of(name string) Operation {
	for _, o := range m.Operations {
		if o.Name == name {
			return o
		}
	}
	return Operation{}
}

// Names of operations that are held against each other.
const (
	OpCopy   = "Encode/copy-4-KB"
	OpEncode = "Encode/answer-of-4-KB"
	OpEvent  = "Encode/event-of-4-KB"
)
