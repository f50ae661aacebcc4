package answer

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/wsock"
)

func TestG6_HoweverContainersComeAndGoTheListHasTheLastWord(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inWorld(t, &Fleet{Dials: 2}, func(w *world) { churn(t, w, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func churn(t *testing.T, w *world, random *rand.Rand) {
	there := make(map[string]bool)
	relist := func() {
		w.list.Close()
		pass(2 * listWait)
		w.say(snapshot(slices.Collect(maps.Keys(there))...)...)
	}
	w.say(`{"complete":0}`)
	for range 300 {
		id := fmt.Sprintf("c%d", random.IntN(10))
		switch random.IntN(12) {
		case 0, 1, 2, 3:
			there[id] = true
			w.say(came(id)...)
		case 4, 5, 6:
			delete(there, id)
			w.say(fmt.Sprintf(`{"went":%q}`, id))
		case 7:
			if s := w.newest(id); s != nil {
				s.end(wsock.Ending{})
			}
		case 8:
			w.set(func() { w.held = !w.held })
		case 9:
			w.endHeld()
		case 10:
			w.set(func() {
				w.noDial = nil
				if random.IntN(2) == 0 {
					w.noDial = errors.New("refused")
				}
			})
		case 11:
			if random.IntN(4) == 0 {
				relist()
			}
			pass(time.Duration(random.IntN(300)) * time.Millisecond)
		}
	}
	w.set(func() { w.noDial, w.held = nil, false })
	w.endHeld()
	if random.IntN(2) == 0 {
		relist()
	}
	pass(20 * time.Second)
	if s := w.f.Stats(); s.Listening != int64(len(there)) || s.Containers != int64(len(there)) {
		t.Errorf("%d containers are served and %d listen, want %d", s.Containers, s.Listening, len(there))
	}
	for id := range there {
		if s := w.socket(id + "/requests"); s.closed.Load() {
			t.Errorf("%s is on the list and closed", id)
		}
	}
	if w.most > 2 {
		t.Errorf("%d handshakes at once, want 2 at most", w.most)
	}
}

// newest is a container's newest /requests connection; nil: there was none.
func (w *world) newest(id string) *fakeSocket {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sockets[id+"/requests"]
}

// endHeld ends every connection that we closed and whose Close was not answered.
func (w *world) endHeld() {
	w.mu.Lock()
	held := w.all
	w.all = nil
	w.mu.Unlock()
	for _, s := range held {
		s.held.Store(false)
		if s.closed.Load() {
			s.end(wsock.Ending{Clean: true})
		}
	}
}
