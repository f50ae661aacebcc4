//go:build !linux

package main

import "errors"

func takesLittle(uintptr) error {
	return errors.New("readers that stall need Linux: run with --stalled 0")
}
