package answer

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/internal/outside"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// asGateway makes the test binary be the outside half of a gateway with that many containers, so that a fleet can be
// measured without it.
const asGateway = "ANSWER_TEST_AS_GATEWAY"

// beGateway serves until its standard input ends; a line on it makes every container ask once.
func beGateway(containers string) {
	n, err := strconv.Atoi(containers)
	if err != nil {
		panic(err)
	}
	m := mux.New(mux.Config{})
	entered := make([]*mux.Container, n)
	for i := range entered {
		entered[i] = there(m.Enter(fmt.Sprintf("c%d", i)))
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go outside.New(outside.Config{Mux: m, MaxMessage: 1 << 20, Logger: quiet}).Serve(ln)
	fmt.Println(ln.Addr())
	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); {
		answers := make(told, n)
		for _, c := range entered {
			c.Ask(codec.CallTool, []byte(`{"name":"t"}`), answers)
		}
		for range entered {
			<-answers
		}
	}
}

// gatewayProcess is a gateway in a process of its own.
type gatewayProcess struct {
	addr string
	in   io.WriteCloser
}

func startGateway(t *testing.T, containers int) *gatewayProcess {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", asGateway, containers))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return &gatewayProcess{addr: strings.TrimSpace(addr), in: in}
}

// visit makes every container ask once.
func (g *gatewayProcess) visit(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(g.in, "visit\n"); err != nil {
		t.Fatal(err)
	}
}
