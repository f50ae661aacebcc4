package main

import (
	"reflect"
	"testing"
)

func TestLinesArePassedOnWhole(t *testing.T) {
	var got []string
	l := &lines{each: func(line []byte) { got = append(got, string(line)) }}
	for _, piece := range []string{"a", "b\nc\n\nd", "", "e\n", "rest"} {
		if n, err := l.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := []string{"ab", "c", "", "de"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
