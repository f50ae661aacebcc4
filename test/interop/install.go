package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

const installWithin = 20 * time.Minute

// runner is what all cases use.
type runner struct {
	folder   string // this room
	out      string // folder of the results
	gateway  string // programs
	upstream string
}

// failures is, by folder, why a program could not be installed.
type failures map[string]error

func (f failures) all() error {
	var errs []error
	for _, folder := range slices.Sorted(maps.Keys(f)) {
		errs = append(errs, f[folder])
	}
	return errors.Join(errs...)
}

// install runs each folder's install once.
func (r runner) install(ctx context.Context, chosen []attempt) failures {
	failed, done := failures{}, map[string]bool{}
	for _, a := range chosen {
		if done[a.folder] {
			continue
		}
		done[a.folder] = true
		if err := r.installOne(ctx, a.folder); err != nil {
			failed[a.folder] = err
		}
	}
	return failed
}

func (r runner) installOne(ctx context.Context, folder string) error {
	ctx, cancel := context.WithTimeout(ctx, installWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, "./install")
	cmd.Dir = filepath.Join(r.folder, folder)
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s/install: %w\n%s", folder, err, out)
	}
	return nil
}
