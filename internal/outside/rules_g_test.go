package outside

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

func TestG1_PrefixAddressesAContainer(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		calls, providers := map[string]*call{}, map[string]*provider{}
		for _, id := range []string{"a", "A", "b.1_x-y", strings.Repeat("z", 128)} {
			providers[id] = w.provider(id)
			calls[id] = w.ask(id, codec.CallTool, `{"name":"`+id+`"}`)
		}
		for id, p := range providers {
			ask := p.call()
			if want := `{"name":"` + id + `"}`; string(ask.Payload) != want {
				t.Errorf("container %.8s heard %s", id, ask.Payload)
			}
			p.answer(ask, result(`{"content":[],"of":"`+id+`"}`))
		}
		for id, c := range calls {
			c.answered(`{"content":[],"of":"` + id + `"}`)
		}
	})
}

func TestG2_PathsWithoutPrefixBelongToContainerDefault(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		if got := wstest.Refused(t, w.addr, "/containers/default/requests"); got.Status != http.StatusConflict {
			t.Errorf("the same container by its prefix: %d, wanted 409", got.Status)
		}
		c := w.ask("default", codec.ListTools, "null")
		ask := p.call()
		answer := wstest.Dial(t, w.addr, "/containers/default"+path(ask.Kind, ask.Channel))
		answer.BinaryAndClose(result(`{"tools":[]}`))
		c.answered(`{"tools":[]}`)
	})
}

func TestG3_AnIDOutsideTheAlphabetIs404(t *testing.T) {
	w := begin(t)
	for _, id := range []string{"", ".", ".a", "..", "a%2fb", "a b", "a%20b", "ä", "a:b", "a,b", "a~", "%61", strings.Repeat("z", 129)} {
		for _, rest := range []string{"/requests", "/mcp/list-tools/1"} {
			if got := w.raw("GET /containers/" + id + rest + " HTTP/1.1\r\n" + upgradeHeaders + "\r\n"); got.StatusCode != 404 && got.StatusCode != 400 {
				t.Errorf("container %q: %d, wanted 404", id, got.StatusCode)
			} else if !strings.Contains(id, " ") && got.StatusCode != 404 {
				t.Errorf("container %q: %d, wanted 404", id, got.StatusCode)
			}
		}
	}
	if n := w.mux.Stats().Containers; n != 0 {
		t.Errorf("refused ids began %d containers", n)
	}
}

func TestG4_OneContainerSeesAndWaitsForNothingOfAnother(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		slow, quick := w.provider("slow"), w.provider("quick")
		waits := w.ask("slow", codec.CallTool, toolAsk)
		asked := slow.call()
		held := slow.open(asked)
		for i := range 50 {
			c := w.ask("quick", codec.CallTool, toolAsk)
			ask := quick.call()
			if got := wstest.Refused(t, w.addr, slow.base+path(ask.Kind, ask.Channel)); got.Status != 404 && got.Status != 409 {
				t.Fatalf("another container's channel: %d", got.Status)
			}
			quick.answer(ask, result(fmt.Sprintf(`{"content":[],"n":%d}`, i)))
			c.answered(fmt.Sprintf(`{"content":[],"n":%d}`, i))
		}
		if got := wstest.Refused(t, w.addr, quick.base+path(asked.Kind, asked.Channel)); got.Status != 404 {
			t.Errorf("a channel opened under another container: %d, wanted 404", got.Status)
		}
		slow.quiet()
		waits.untold()
		held.BinaryAndClose(result(toolAnswer))
		waits.answered(toolAnswer)
	})
}
