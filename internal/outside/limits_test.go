package outside

import (
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/mux"
)

const claimRequest = "GET /containers/c2/requests HTTP/1.1\r\n" + upgradeHeaders + "\r\n"

func TestAClaimOfANewContainerOverTheLimitIsRefused(t *testing.T) {
	w := begin(t, func(s *setup) { s.mux.Limits = mux.Limits{Containers: 1} })
	c := there(w.mux.Enter("c1"))
	defer c.Exit()
	r := w.raw(claimRequest)
	if r.StatusCode != 503 || r.Header.Get("Retry-After") != "1" || !strings.Contains(r.text, "the limit is 1 (--max-containers)") {
		t.Fatalf("got %d, Retry-After %q, %q", r.StatusCode, r.Header.Get("Retry-After"), r.text)
	}
	if n := w.counts.refusals(ReasonMaxContainers); n != 1 {
		t.Errorf("%d refusals were counted", n)
	}
	// The one that is there goes on.
	if r := w.raw(strings.Replace(claimRequest, "c2", "c1", 1)); r.StatusCode != 101 {
		t.Fatalf("the claim of a container that is there: %d %s", r.StatusCode, r.text)
	}
}

// TestAClaimedContainerMakesNoRoomUntilItsClaimEnds has the claims of fresh
// containers, which cost their sender a connection each, make room for each other.
func TestAClaimedContainerMakesNoRoomUntilItsClaimEnds(t *testing.T) {
	w := begin(t, func(s *setup) { s.mux.Limits = mux.Limits{Containers: 1} })
	claim, err := w.mux.Claim("c1")
	if err != nil {
		t.Fatal(err)
	}
	w.clock.advance(10 * time.Second)
	if r := w.raw(claimRequest); r.StatusCode != 503 {
		t.Fatalf("got %d %s", r.StatusCode, r.text)
	}
	claim.Detach()
	w.clock.advance(2 * time.Second)
	if r := w.raw(claimRequest); r.StatusCode != 101 {
		t.Fatalf("got %d %s", r.StatusCode, r.text)
	}
}
