package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
)

// digest counts what the children log, and keeps the first of each sort: thousands of containers may say the same.
type digest struct {
	faults *faults

	mu      sync.Mutex
	entries map[string]*entry
	order   []string
}

type entry struct {
	count int
	first string
}

// sorts bounds the digest, should messages be without number.
const sorts = 200

func newDigest(f *faults) *digest { return &digest{faults: f, entries: make(map[string]*entry)} }

// of takes a process's standard error. What is no log record, or one of an error, is a fault.
func (d *digest) of(name string) io.Writer {
	return &lines{each: func(line []byte) {
		var record struct {
			Level   string `json:"level"`
			Message string `json:"msg"`
		}
		err := json.Unmarshal(line, &record)
		switch {
		case err != nil || record.Level == "ERROR":
			d.faults.add("%s says: %s", name, line)
		case record.Level == "WARN":
			d.count(name+": "+record.Message, string(line))
		}
	}}
}

func (d *digest) count(sort, line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries[sort]
	if e == nil {
		if len(d.entries) == sorts {
			return
		}
		e = &entry{first: line}
		d.entries[sort] = e
		d.order = append(d.order, sort)
	}
	e.count++
}

func (d *digest) print(out io.Writer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.Sort(d.order)
	for _, sort := range d.order {
		e := d.entries[sort]
		fmt.Fprintf(out, "  %6d  %s\n          first: %.300s\n", e.count, sort, e.first)
	}
}
