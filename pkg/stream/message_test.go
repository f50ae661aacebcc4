package stream

import (
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

func TestN7_OnlyListChangedAndUpdatedHaveAKey(t *testing.T) {
	for raw, want := range map[string]string{
		`{"method":"notifications/tools/list_changed"}`:                                "notifications/tools/list_changed",
		`{"method":"notifications/prompts/list_changed","params":{}}`:                  "notifications/prompts/list_changed",
		`{"method":"notifications/resources/list_changed"}`:                            "notifications/resources/list_changed",
		`{"method":"notifications/roots/list_changed"}`:                                "notifications/roots/list_changed",
		`{"method":"notifications/resources/updated","params":{"uri":"file:///a"}}`:    "notifications/resources/updated\x00file:///a",
		`{"method":"notifications/resources/updated","params":{"uri":"file:\/\/\/a"}}`: "notifications/resources/updated\x00file:///a",
		`{"method":"notifications/resources/updated","params":{}}`:                     "",
		`{"method":"notifications/resources/updated"}`:                                 "",
		`{"method":"notifications/progress","params":{"progress":1}}`:                  "",
		`{"method":"notifications/message","params":{"data":"list_changed"}}`:          "",
		`{"method":"list_changed"}`:                                                    "",
		`{"method":"x/list_changed"}`:                                                  "",
	} {
		n, err := codec.ParseNotification([]byte(raw))
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if got := KeyOf(n); got != want {
			t.Errorf("%s: key %q, want %q", raw, got, want)
		}
	}
}
