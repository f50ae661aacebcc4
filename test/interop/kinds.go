package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/diverge-network/gateway/test/results"
)

const (
	checkWithin = 15 * time.Second
	concurrent  = 20 // calls at once

	notServed  = -32603 // what a caller is told of an ask that was closed without an answer (protocol A6)
	undefined  = -32099 // that the provider was asked to fail with
	mappedCode = -32603 // what becomes of undefined codes for a client of the stateless revision
)

// caller calls a provider's five kinds through the gateway.
type caller struct {
	session  *mcp.ClientSession
	revision string
	changed  chan struct{}
}

// tryKinds makes the checks of a provider.
func tryKinds(ctx context.Context, url, revision string) []results.Check {
	c := &caller{revision: revision, changed: make(chan struct{}, 1)}
	var made []results.Check
	for _, check := range []struct {
		name, about string
		do          func(context.Context) error
	}{
		{"list tools", "kind 0 is answered", func(ctx context.Context) error { return c.listTools(ctx, url) }},
		{"list resources", "kind 1 is answered", c.listResources},
		{"call tool", "kind 2 is answered", c.call},
		{"read resource", "kind 3 is answered", c.read},
		{"concurrent", "calls at once are each answered to their caller", c.concurrent},
		{"abrupt", "an answer whose path broke is asked again (A4, A5)", c.abrupt},
		{"unserved", "a path closed without a message is not served (A6)", c.unserved},
		{"error", "an error reaches the caller (A3)", c.error},
		{"notify", "kind 4 is heard (N3)", c.notify},
	} {
		r := results.Check{Name: check.name, About: check.about, Outcome: results.Pass}
		if err := within(ctx, check.do); err != nil {
			r.Outcome, r.Detail = results.Fail, err.Error()
		}
		made = append(made, r)
		if c.session == nil {
			break // nothing can be called
		}
	}
	if c.session != nil {
		_ = c.session.Close()
	}
	return made
}

func within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	return do(ctx)
}

func (c *caller) connect(url string) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case c.changed <- struct{}{}:
			default:
			}
		},
	})
	// The session lives as long as its context.
	session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: url},
		&mcp.ClientSessionOptions{ProtocolVersion: c.revision})
	if err != nil {
		return err
	}
	c.session = session
	if got := session.InitializeResult().ProtocolVersion; got != c.revision {
		return fmt.Errorf("asked for %s and got %s", c.revision, got)
	}
	return nil
}

func (c *caller) listTools(ctx context.Context, url string) error {
	if err := c.connect(url); err != nil {
		return err
	}
	list, err := c.session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, tool := range list.Tools {
		named[tool.Name] = true
	}
	for _, name := range []string{"echo", "abrupt", "unserved", "error", "notify"} {
		if !named[name] {
			return fmt.Errorf("there is no tool %s", name)
		}
	}
	return nil
}

func (c *caller) listResources(ctx context.Context) error {
	list, err := c.session.ListResources(ctx, nil)
	if err == nil && (len(list.Resources) != 1 || list.Resources[0].URI != "text://1") {
		err = fmt.Errorf("the resources are %+v", list.Resources)
	}
	return err
}

func (c *caller) read(ctx context.Context) error {
	result, err := c.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "text://1"})
	if err == nil && (len(result.Contents) != 1 || result.Contents[0].Text != "the text of text://1") {
		err = fmt.Errorf("text://1 is %+v", result.Contents)
	}
	return err
}

// text calls a tool whose answer is one text.
func (c *caller) text(ctx context.Context, name string, arguments map[string]any) (string, error) {
	if arguments == nil {
		arguments = map[string]any{}
	}
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return "", err
	}
	if len(result.Content) != 1 {
		return "", fmt.Errorf("%d contents", len(result.Content))
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return "", fmt.Errorf("the content is a %T", result.Content[0])
	}
	return text.Text, nil
}

// says wants a tool's answer to be a text.
func (c *caller) says(ctx context.Context, want, name string, arguments map[string]any) error {
	text, err := c.text(ctx, name, arguments)
	if err == nil && text != want {
		err = fmt.Errorf("%s says %q instead of %q", name, text, want)
	}
	return err
}

func (c *caller) call(ctx context.Context) error {
	const said = "héllo \u2028 \"quoted\" 🙂"
	return c.says(ctx, said, "echo", map[string]any{"text": said})
}

func (c *caller) concurrent(ctx context.Context) error {
	var wrong [concurrent]error
	var all sync.WaitGroup
	for i := range concurrent {
		all.Go(func() {
			said := fmt.Sprintf("call %d", i)
			wrong[i] = c.says(ctx, said, "echo", map[string]any{"text": said})
		})
	}
	all.Wait()
	return errors.Join(wrong[:]...)
}

func (c *caller) abrupt(ctx context.Context) error { return c.says(ctx, "again", "abrupt", nil) }

func (c *caller) unserved(ctx context.Context) error {
	_, err := c.text(ctx, "unserved", nil)
	return failed(err, notServed, "")
}

func (c *caller) error(ctx context.Context) error {
	_, err := c.text(ctx, "error", nil)
	if c.revision == results.Modern {
		return failed(err, mappedCode, "as asked")
	}
	return failed(err, undefined, "as asked")
}

// failed wants a JSON-RPC error; message is empty where it is not given.
func failed(err error, code int64, message string) error {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		return fmt.Errorf("want error %d, got %w", code, err)
	}
	if wire.Code != code || message != "" && wire.Message != message {
		return fmt.Errorf("want error %d %q, got %d %q", code, message, wire.Code, wire.Message)
	}
	return nil
}

// notify causes a notification until one is heard: nothing is replayed (protocol N5).
func (c *caller) notify(ctx context.Context) error {
	for range 10 {
		if err := c.says(ctx, "notified", "notify", nil); err != nil {
			return err
		}
		select {
		case <-c.changed:
			return nil
		case <-time.After(time.Second):
		}
	}
	return errors.New("notifications/tools/list_changed was not heard")
}
