package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/diverge-network/gateway/internal/gateway"
)

// Exit statuses.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

const description = `An MCP gateway: MCP clients in agent containers speak Streamable HTTP to it, ` +
	`a provider's server opens WebSockets to it, hears their requests and answers them.`

type cli struct {
	LogLevel  *slog.Level `help:"Least severe level that is logged: debug, info, warn or error [info; warn for demo]." env:"GATEWAY_LOG_LEVEL" placeholder:"LEVEL"`
	LogFormat string      `help:"text, json, or auto: text on a terminal and JSON elsewhere [${default}]." enum:"auto,text,json" default:"auto" env:"GATEWAY_LOG_FORMAT" placeholder:"FORMAT"`

	Serve       serveCmd       `cmd:"" default:"withargs" help:"Run the gateway (the default command)."`
	Answer      answerCmd      `cmd:"" help:"Play the provider's server: answer containers from a real MCP server."`
	Demo        demoCmd        `cmd:"" help:"Gateway, provider and client in one process: one exchange of each kind, then keep serving."`
	Token       tokenCmd       `cmd:"" help:"Print a token that lets a container's client, or a provider's server, in."`
	Keys        keysCmd        `cmd:"" help:"Make keys that sign tokens, and print their public halves."`
	Healthcheck healthcheckCmd `cmd:"" help:"Ask a running gateway whether it is ready; exit status 0 or 1."`
	Version     versionCmd     `cmd:"" help:"Print version, revision and Go version."`
}

// logLevel is the one that was asked for. The demo tells on standard output what happens; its log should not say it again.
func (c *cli) logLevel(command string) slog.Level {
	switch {
	case c.LogLevel != nil:
		return *c.LogLevel
	case command == "demo":
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

// world is what a command may touch outside itself.
type world struct {
	ctx    context.Context
	stdout io.Writer
	stderr io.Writer
	log    *slog.Logger
}

// Run parses args (without the program's name) and carries the command out until it is done or ctx ends, which is a clean
// stop. It returns the exit status: 0 done or cleanly stopped, 2 bad usage, 1 anything else. Errors go to stderr, one line.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	exited, code := false, exitOK
	parser, err := kong.New(&c,
		kong.Name("gateway"),
		kong.Description(description),
		kong.Writers(stdout, stderr),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"default_container": defaultContainer},
		// --help asks to exit from within the parser; the parse goes on, and what it finds then means nothing.
		kong.Exit(func(status int) { exited, code = true, status }),
	)
	if err != nil {
		return report(stderr, err)
	}
	command, err := parser.Parse(spelled(args))
	switch {
	case exited:
		return code
	case err != nil:
		fmt.Fprintf(stderr, "gateway: %v (see gateway %s--help)\n", err, commandOf(err))
		return exitUsage
	}
	return report(stderr, command.Run(&world{
		ctx:    ctx,
		stdout: stdout,
		stderr: stderr,
		log:    newLogger(stderr, c.logLevel(command.Command()), c.LogFormat),
	}))
}

// spelled understands the two other ways in which people ask for help and for the version.
func spelled(args []string) []string {
	switch {
	case len(args) == 0:
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case args[0] == "--version":
		return append([]string{"version"}, args[1:]...)
	}
	return args
}

// usageError marks what only the user can put right on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// commandOf is the command, with a space behind it, that arguments were wrong for.
func commandOf(err error) string {
	wrong, ok := errors.AsType[*kong.ParseError](err)
	if !ok || wrong.Context == nil || wrong.Context.Selected() == nil {
		return ""
	}
	return strings.TrimPrefix(wrong.Context.Selected().FullPath(), "gateway ") + " "
}

func report(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	// Several failures are joined by line breaks.
	fmt.Fprintf(stderr, "gateway: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	var bad *gateway.ConfigError
	var usage usageError
	if errors.As(err, &bad) || errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailure
}
