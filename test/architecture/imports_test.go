// Package architecture holds the tests of what the repository says about itself: the direction of its imports, and the test
// that each rule of the protocol claims to have.
package architecture

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/diverge-network/gateway/"

// law says which rooms of this module a room may import, and which foreign modules. A room that is not listed may not exist.
var law = map[string]struct {
	rooms   []string
	foreign []string
}{
	"pkg/codec":                   {foreign: []string{"github.com/go-json-experiment/json"}},
	"pkg/mux":                     {rooms: []string{"pkg/codec"}, foreign: []string{"github.com/puzpuzpuz/xsync/v3"}},
	"pkg/stream":                  {rooms: []string{"pkg/codec"}},
	"pkg/answer":                  {rooms: []string{"pkg/codec", "internal/sock", "internal/wsock", "pkg/answer/internal/backoff"}},
	"pkg/answer/internal/backoff": {},
	"pkg/answer/upstream":         {rooms: []string{"pkg/codec", "pkg/stream", "pkg/answer", "internal/toolheader"}, foreign: []string{"github.com/modelcontextprotocol/go-sdk"}},
	"internal/sock":               {foreign: []string{"golang.org/x/sys"}},
	"internal/keepalive":          {},
	"internal/origin":             {},
	"internal/httphead":           {foreign: []string{"github.com/valyala/fasthttp"}},
	"internal/toolheader":         {foreign: []string{"github.com/go-json-experiment/json"}},
	"internal/reload":             {},
	"internal/auth":               {rooms: []string{"pkg/mux", "internal/reload"}, foreign: []string{"github.com/go-jose/go-jose/v4", "github.com/golang-jwt/jwt/v5", "github.com/go-json-experiment/json", "github.com/puzpuzpuz/xsync/v3"}},
	"internal/auth/authtest":      {rooms: []string{"internal/auth"}},
	"internal/certs":              {rooms: []string{"internal/reload"}},
	"internal/certs/certstest":    {},
	"internal/limit":              {rooms: []string{"pkg/codec", "internal/sock"}},
	"internal/wsock":              {rooms: []string{"pkg/codec", "internal/sock", "internal/keepalive"}, foreign: []string{"github.com/gobwas/ws"}},
	"internal/wsock/wstest":       {},
	"internal/outside":            {rooms: []string{"pkg/codec", "pkg/mux", "pkg/stream", "internal/sock", "internal/keepalive", "internal/limit", "internal/wsock", "internal/origin", "internal/httphead", "internal/auth"}, foreign: []string{"github.com/valyala/fasthttp"}},
	"internal/inside":             {rooms: []string{"pkg/codec", "pkg/mux", "pkg/stream", "internal/sock", "internal/keepalive", "internal/limit", "internal/origin", "internal/httphead", "internal/toolheader", "internal/auth"}, foreign: []string{"github.com/valyala/fasthttp"}},
	"internal/ops":                {rooms: []string{"pkg/codec", "pkg/mux", "pkg/stream", "internal/reload"}, foreign: []string{"github.com/prometheus"}},
	"internal/gateway":            {rooms: []string{"pkg", "internal"}},
	"cmd/gateway":                 {rooms: []string{"pkg", "internal"}, foreign: []string{"github.com/alecthomas/kong", "github.com/modelcontextprotocol/go-sdk", "github.com/mattn/go-isatty", "golang.org/x/sys", "golang.org/x/term"}},
	"bench":                       {},
	"bench/wire":                  {foreign: []string{"golang.org/x/sys"}},
	"bench/load":                  {rooms: []string{"bench/wire"}, foreign: []string{"golang.org/x/sys"}},
	"bench/floor":                 {rooms: []string{"pkg/codec", "internal/sock"}, foreign: []string{"github.com/valyala/fasthttp", "github.com/gobwas/ws", "golang.org/x/sys"}},
	"bench/inmemory":              {rooms: []string{"pkg", "internal/inside", "internal/outside", "bench/wire"}},
	"bench/child":                 {rooms: []string{"internal/gateway", "bench/floor", "bench/inmemory"}, foreign: []string{"github.com/modelcontextprotocol/go-sdk"}},
	"bench/suite":                 {rooms: []string{"bench"}, foreign: []string{"golang.org/x/sys"}},
	"bench/render":                {rooms: []string{"bench/suite"}, foreign: []string{"github.com/go-analyze/charts"}},
	"bench/report":                {rooms: []string{"bench"}},
	"test/architecture":           {},
	"test/attack":                 {},
	"test/faults":                 {rooms: []string{"test/stack"}, foreign: []string{"github.com/Shopify/toxiproxy/v2", "github.com/rs/zerolog"}},
	"test/fleet":                  {foreign: []string{"golang.org/x/sys"}},
	"test/e2e":                    {rooms: []string{"pkg", "internal"}},
	"test/interop/snippets":       {rooms: []string{"pkg", "internal"}},
	"test/interop/snippets/go":    {foreign: []string{"github.com/modelcontextprotocol/go-sdk"}},
	"test/interop/providers":      {rooms: []string{"internal"}},
	"test/stack":                  {},
	"test/results":                {},
	"test/compatibility":          {rooms: []string{"test/stack", "test/results"}},
	"test/conformance":            {rooms: []string{"test/stack", "test/results"}},
	"test/autobahn":               {rooms: []string{"test/stack", "pkg/codec", "internal/sock", "internal/httphead", "internal/wsock"}, foreign: []string{"github.com/valyala/fasthttp"}},
	"test/interop":                {rooms: []string{"test/stack", "test/results", "test/interop/report"}, foreign: []string{"github.com/modelcontextprotocol/go-sdk"}},
	"test/interop/report":         {},
	"test/interop/go":             {rooms: []string{"test/interop/report"}, foreign: []string{"github.com/modelcontextprotocol/go-sdk"}},
	"test/interop/wire":           {rooms: []string{"test/interop/report"}},
	"test/interop/upstream":       {foreign: []string{"github.com/modelcontextprotocol/go-sdk"}},
}

// program is the gateway's: what only its benchmarks and tests need must not be in it.
const program = "cmd/gateway"

func TestTheProgramHoldsNothingOfItsBenchmarks(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+program).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for path := range strings.Lines(string(out)) {
		path = strings.TrimSpace(path)
		if under(path, []string{module + "bench", "github.com/go-analyze", "github.com/Shopify", "golang.org/x/image", "github.com/golang/freetype"}) {
			t.Errorf("%s is part of the program", path)
		}
	}
}

func under(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return path == root || strings.HasPrefix(path, root+"/") })
}

func TestImportsNeverPointBack(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Standard", "-deps", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	type listed struct {
		ImportPath string
		Imports    []string
		Standard   bool
	}
	standard := map[string]bool{}
	var rooms []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		standard[p.ImportPath] = p.Standard
		if strings.HasPrefix(p.ImportPath, module) {
			rooms = append(rooms, p)
		}
	}
	if len(rooms) < 10 {
		t.Fatalf("go list found only %d rooms", len(rooms))
	}
	for _, p := range rooms {
		room := strings.TrimPrefix(p.ImportPath, module)
		allowed, ok := law[room]
		if !ok {
			t.Errorf("%s is a new room: give it a line in the import law", room)
			continue
		}
		for _, imported := range p.Imports {
			switch own, ours := strings.CutPrefix(imported, module); {
			case ours && !under(own, allowed.rooms):
				t.Errorf("%s imports %s: the law does not allow it", room, own)
			case !ours && !standard[imported] && !under(imported, allowed.foreign):
				t.Errorf("%s imports %s: the law does not allow it", room, imported)
			}
		}
	}
}
