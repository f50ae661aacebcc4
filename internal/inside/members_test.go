package inside

import (
	"encoding/json"
	"reflect"
	"testing"
)

// sameMembers reports whether two JSON texts say the same, in whatever order.
func sameMembers(t *testing.T, got, want string) bool {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	return len(got) == len(want) && reflect.DeepEqual(a, b)
}
