package main

import (
	"strings"
	"testing"
)

// wantUsage runs args, which must be refused with status 2 and one line that holds every one of says.
func wantUsage(t *testing.T, args []string, says ...string) {
	t.Helper()
	code, stdout, stderr := runOnce(t, args...)
	if code != exitUsage {
		t.Errorf("status %d, want %d", code, exitUsage)
	}
	if stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "gateway: ") {
		t.Errorf("want one line on standard error, got %q and on standard output %q", stderr, stdout)
	}
	for _, s := range says {
		if !strings.Contains(stderr, s) {
			t.Errorf("%q does not say %q", stderr, s)
		}
	}
}

func TestAWrongFlagIsOneLineThatNamesFlagAndValue(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		says []string
	}{
		"unknown flag":            {[]string{"--nope"}, []string{"--nope"}},
		"unknown command":         {[]string{"nope"}, []string{"nope"}},
		"outside without port":    {[]string{"--outside", "127.0.0.1"}, []string{"--outside", `"127.0.0.1"`}},
		"outside off loopback":    {[]string{"serve", "--outside", "0.0.0.0:14979"}, []string{"--outside", `"0.0.0.0:14979"`, "--auth-keys", "--insecure"}},
		"inside off loopback":     {[]string{"serve", "--inside=:8080"}, []string{"--inside", `":8080"`, "--insecure"}},
		"a certificate alone":     {[]string{"--tls-cert", "c.pem"}, []string{"--tls-cert", `"c.pem"`, "--tls-key"}},
		"a client CA alone":       {[]string{"--client-ca", "c.pem"}, []string{"--client-ca", `"c.pem"`, "--tls-cert"}},
		"no such key file":        {[]string{"--auth-keys", "no/such/file"}, []string{"--auth-keys", `"no/such/file"`, "gateway keys new"}},
		"answer with two tokens":  {[]string{"answer", "--upstream", "http://h/mcp", "--token", "a.b.c", "--token-file", "f"}, []string{"--token", "--token-file", "exclude"}},
		"answer without its file": {[]string{"answer", "--upstream", "http://h/mcp", "--token-file", "no/such/file"}, []string{"--token-file", "no/such/file"}},
		"answer with no token":    {[]string{"answer", "--upstream", "http://h/mcp", "--token", "two words"}, []string{"--token", "gateway token"}},
		"answer with CA over ws":  {[]string{"answer", "--upstream", "http://h/mcp", "--ca", "ca.pem"}, []string{"--ca", `"ca.pem"`, "wss://"}},
		"answer without the CA":   {[]string{"answer", "--gateway", "wss://h", "--upstream", "http://h/mcp", "--ca", "no/such/file"}, []string{"--ca", "no/such/file"}},
		"answer with half a pair": {[]string{"answer", "--gateway", "wss://h", "--upstream", "http://h/mcp", "--client-cert", "c.pem"}, []string{"--client-cert", `"c.pem"`, "--client-key"}},
		"one address twice":       {[]string{"--ops", "127.0.0.1:8080"}, []string{"--ops", `"127.0.0.1:8080"`, "--inside"}},
		"reask-after a word":      {[]string{"--reask-after", "soon"}, []string{"--reask-after", `"soon"`, "never"}},
		"reask-after negative":    {[]string{"--reask-after=-1s"}, []string{"--reask-after", `"-1s"`}},
		"max-message a word":      {[]string{"--max-message", "big"}, []string{"--max-message", `"big"`}},
		"max-message out of size": {[]string{"--max-message", "9999999999GiB"}, []string{"--max-message", `"9999999999GiB"`}},
		"max-message too small":   {[]string{"--max-message", "1"}, []string{"--max-message", `"1"`}},
		"session-ttl a word":      {[]string{"--session-ttl", "long"}, []string{"--session-ttl", `"long"`}},
		"session-ttl zero":        {[]string{"--session-ttl", "0s"}, []string{"--session-ttl", `"0s"`}},
		"stream-stall no unit":    {[]string{"--stream-stall", "30"}, []string{"--stream-stall", `"30"`}},
		"sse-keepalive zero":      {[]string{"--sse-keepalive", "0s"}, []string{"--sse-keepalive", `"0s"`}},
		"sse-after a word":        {[]string{"--sse-after", "late"}, []string{"--sse-after", `"late"`, "never"}},
		"sse-after negative":      {[]string{"--sse-after=-1s"}, []string{"--sse-after", `"-1s"`}},
		"far-side unknown":        {[]string{"--far-side", "2027-01-01"}, []string{"--far-side", `"2027-01-01"`, "2024-11-05", "2026-07-28"}},
		"container-idle short":    {[]string{"--container-idle", "1ms"}, []string{"--container-idle", `"1ms"`, "0"}},
		"container-idle negative": {[]string{"--container-idle=-1s"}, []string{"--container-idle", `"-1s"`}},
		"ping zero":               {[]string{"--ping", "0s"}, []string{"--ping", `"0s"`}},
		"session key missing":     {[]string{"--session-key-file", "no/such/file"}, []string{"--session-key-file", `"no/such/file"`}},
		"origin":                  {[]string{"--allow-origin", "app.example"}, []string{"--allow-origin", `"app.example"`}},
		"log level":               {[]string{"--log-level", "loud"}, []string{"--log-level", "loud"}},
		"log format":              {[]string{"--log-format", "xml"}, []string{"--log-format", `"xml"`}},
		"answer without upstream": {[]string{"answer"}, []string{"--upstream", "--upstream-command"}},
		"answer with both":        {[]string{"answer", "--upstream", "http://h/mcp", "--upstream-command", "sh"}, []string{"--upstream", "--upstream-command", "exclude"}},
		"answer to http":          {[]string{"answer", "--gateway", "http://h", "--upstream", "http://h/mcp"}, []string{"--gateway", `"http://h"`}},
		"answer from ws":          {[]string{"answer", "--upstream", "ws://h/mcp"}, []string{"--upstream", `"ws://h/mcp"`}},
		"answer for all and one":  {[]string{"answer", "--container", "a", "--container", "*", "--upstream", "http://h/mcp"}, []string{"--container", `"*"`, "every"}},
		"answer in what sessions": {[]string{"answer", "--upstream", "http://h/mcp", "--upstream-sessions", "one"}, []string{"--upstream-sessions", `"one"`, "shared"}},
		"answer for a bad id":     {[]string{"answer", "--container", "a/b", "--upstream", "http://h/mcp"}, []string{"--container", `"a/b"`}},
		"answer for one twice":    {[]string{"answer", "--container", "a", "--container", "a", "--upstream", "http://h/mcp"}, []string{"--container", `"a"`, "twice"}},
		"answer open quote":       {[]string{"answer", "--upstream-command", "sh -c 'x"}, []string{"--upstream-command", "quote"}},
		"answer no such program":  {[]string{"answer", "--upstream-command", "no-such-program-here"}, []string{"--upstream-command", `"no-such-program-here"`}},
		"healthcheck address":     {[]string{"healthcheck", "--ops", "nowhere"}, []string{"--ops", `"nowhere"`}},
		"healthcheck no time":     {[]string{"healthcheck", "--timeout", "0s"}, []string{"--timeout", "0s"}},
	} {
		t.Run(name, func(t *testing.T) { wantUsage(t, test.args, test.says...) })
	}
}

func TestAWrongVariableIsOneLineThatNamesItAndItsValue(t *testing.T) {
	for name, test := range map[string]struct{ value, flag string }{
		"GATEWAY_OUTSIDE":          {"0.0.0.0:1", "--outside"},
		"GATEWAY_INSIDE":           {"nowhere", "--inside"},
		"GATEWAY_OPS":              {"127.0.0.1:99999", "--ops"},
		"GATEWAY_REASK_AFTER":      {"soon", "--reask-after"},
		"GATEWAY_MAX_MESSAGE":      {"big", "--max-message"},
		"GATEWAY_SESSION_KEY_FILE": {"no/such/file", "--session-key-file"},
		"GATEWAY_SESSION_TTL":      {"long", "--session-ttl"},
		"GATEWAY_STREAM_STALL":     {"1ns", "--stream-stall"},
		"GATEWAY_SSE_KEEPALIVE":    {"x", "--sse-keepalive"},
		"GATEWAY_SSE_AFTER":        {"x", "--sse-after"},
		"GATEWAY_FAR_SIDE":         {"x", "--far-side"},
		"GATEWAY_PING":             {"x", "--ping"},
		"GATEWAY_CONTAINER_IDLE":   {"x", "--container-idle"},
		"GATEWAY_ALLOW_ORIGIN":     {"https://a.example,b", "--allow-origin"},
		"GATEWAY_INSECURE":         {"perhaps", "--insecure"},
		"GATEWAY_LOG_LEVEL":        {"loud", "--log-level"},
		"GATEWAY_LOG_FORMAT":       {"xml", "--log-format"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, test.value)
			last := test.value[strings.LastIndexByte(test.value, ',')+1:]
			wantUsage(t, nil, test.flag, last)
		})
	}
}

func TestEveryServeFlagHasAVariableOfItsName(t *testing.T) {
	code, stdout, _ := runOnce(t, "serve", "--help")
	if code != exitOK {
		t.Fatalf("status %d", code)
	}
	flags := 0
	for _, line := range strings.Split(stdout, "\n") {
		_, flag, found := strings.Cut(line, "--")
		if !found || !strings.HasPrefix(strings.TrimLeft(line, " -h,"), flag) {
			continue
		}
		name := flag[:strings.IndexAny(flag+" ", "= ")]
		name, _, _ = strings.Cut(name, ",")
		if name == "help" {
			continue
		}
		flags++
		variable := "$GATEWAY_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if !strings.Contains(strings.Join(strings.Fields(stdout), " "), variable) {
			t.Errorf("--%s has no variable %s in:\n%s", name, variable, stdout)
		}
	}
	if flags < 17 {
		t.Errorf("found %d flags in:\n%s", flags, stdout)
	}
}

func TestHelpExplainsEveryCommand(t *testing.T) {
	code, stdout, stderr := runOnce(t, "--help")
	if code != exitOK || stderr != "" {
		t.Errorf("status %d, standard error %q", code, stderr)
	}
	for _, command := range []string{"serve", "answer", "demo", "healthcheck", "version"} {
		if !strings.Contains(stdout, "\n  "+command) {
			t.Errorf("no %s in:\n%s", command, stdout)
		}
	}
}
