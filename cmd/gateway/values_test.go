package main

import (
	"slices"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/mux"
)

func TestSizesAreBytesWithBinaryUnits(t *testing.T) {
	for text, want := range map[string]byteSize{"0": 0, "1024": 1024, "1KiB": 1 << 10, "64MiB": 64 << 20, "2GiB": 2 << 30} {
		var got byteSize
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5MiB", "64MB", "64 MiB", "64mib", "9223372036854775808", "9007199254740992GiB"} {
		if err := new(byteSize).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestWhatMayNeverBeIsADurationOrNever(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "0s": 0, "1s": time.Second, "1m30s": 90 * time.Second, "never": mux.Never} {
		var got orNever
		if err := got.UnmarshalText([]byte(text)); err != nil || time.Duration(got) != want {
			t.Errorf("%q = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "Never", "1", "-1ns", "1 s"} {
		if err := new(orNever).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestACommandIsSplitAsAShellDoes(t *testing.T) {
	for line, want := range map[string][]string{
		"server":                       {"server"},
		"  npx -y \t server\n stdio ":  {"npx", "-y", "server", "stdio"},
		`sh -c 'echo "$HOME"'`:         {"sh", "-c", `echo "$HOME"`},
		`a "b c"d "" '' e\ f`:          {"a", "b cd", "", "", "e f"},
		`a "x\"y\\z\n" '\'`:            {"a", `x"y\z\n`, `\`},
		"a 'ünïcode 😀' \"two\nlines\"": {"a", "ünïcode 😀", "two\nlines"},
		`*.go $HOME ~`:                 {"*.go", "$HOME", "~"},
	} {
		if got, err := splitWords(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q = %q, %v; want %q", line, got, err, want)
		}
	}
	for _, line := range []string{"", "  ", `''`, `a 'b`, `a "b`, `a \`} {
		if got, err := splitWords(line); err == nil {
			t.Errorf("%q was taken as %q", line, got)
		}
	}
}
