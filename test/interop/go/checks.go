package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/diverge-network/gateway/test/interop/report"
)

const (
	atOnce      = 10 * time.Second // for what should happen at once
	beginning   = time.Second      // that a call is given to reach the server before it is cancelled
	bigBytes    = 3_000_000
	modern      = "2026-07-28"
	pages       = 3
	fewestTools = 31
	resources   = 25
)

func (c *client) checks(ctx context.Context, asked string) []report.Check {
	checks := []struct {
		name string
		do   func(context.Context) error
	}{
		{"connect", func(context.Context) error {
			if asked != "" && c.revision() != asked {
				return fmt.Errorf("asked for %s and got %s", asked, c.revision())
			}
			return nil
		}},
		{"list-pages", c.listPages},
		{"call", c.echo},
		{"progress", c.progresses},
		{"cancel", c.cancel},
		{"read", c.read},
		{"list-changed", c.listChanged},
		{"ping", c.ping},
		{"big-result", c.big},
		{"disconnect", func(context.Context) error { return c.session.Close() }},
	}
	var list []report.Check
	for _, check := range checks {
		list = append(list, report.Check{Name: check.name, Do: func() error {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			return check.do(ctx)
		}})
	}
	return list
}

func (c *client) listPages(ctx context.Context) error {
	seen := map[string]bool{}
	n := 0
	for params := (&mcp.ListToolsParams{}); ; {
		page, err := c.session.ListTools(ctx, params)
		if err != nil {
			return fmt.Errorf("tools/list: %w", err)
		}
		n++
		for _, tool := range page.Tools {
			if seen[tool.Name] {
				return fmt.Errorf("tools/list has %s twice", tool.Name)
			}
			seen[tool.Name] = true
		}
		if params.Cursor = page.NextCursor; params.Cursor == "" {
			break
		}
	}
	if n < pages || len(seen) < fewestTools {
		return fmt.Errorf("tools/list has %d tools on %d pages", len(seen), n)
	}
	uris := map[string]bool{}
	n = 0
	for params := (&mcp.ListResourcesParams{}); ; {
		page, err := c.session.ListResources(ctx, params)
		if err != nil {
			return fmt.Errorf("resources/list: %w", err)
		}
		n++
		for _, r := range page.Resources {
			uris[r.URI] = true
		}
		if params.Cursor = page.NextCursor; params.Cursor == "" {
			break
		}
	}
	if n != pages || len(uris) != resources {
		return fmt.Errorf("resources/list has %d resources on %d pages", len(uris), n)
	}
	return nil
}

func (c *client) echo(ctx context.Context) error {
	const said = "héllo \u2028 \"quoted\" 🙂"
	text, err := c.call(ctx, "echo", map[string]any{"text": said}, nil)
	if err == nil && text != said {
		err = fmt.Errorf("%q came back as %q", said, text)
	}
	return err
}

// progresses makes two calls at once, whose tokens are of different types.
func (c *client) progresses(ctx context.Context) error {
	var wrong [2]error
	var both sync.WaitGroup
	for i, token := range []any{"a", 7} {
		both.Go(func() { _, wrong[i] = c.call(ctx, "progress", map[string]any{"steps": 5}, token) })
	}
	both.Wait()
	if err := errors.Join(wrong[:]...); err != nil {
		return err
	}
	// The SDK hands over notifications beside answers, so what came before the answer may be handled after it.
	deadline := time.After(atOnce)
	for !c.heardAll(10) {
		select {
		case <-c.heard:
		case <-deadline:
			c.mu.Lock()
			defer c.mu.Unlock()
			return fmt.Errorf("progress heard: %v", c.progress)
		}
	}
	if _, err := c.call(ctx, "echo", map[string]any{"text": "what came too much has come by now"}, nil); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	steps := []float64{1, 2, 3, 4, 5}
	if len(c.progress) != 2 || !slices.Equal(c.progress["string a"], steps) || !slices.Equal(c.progress["float64 7"], steps) {
		return fmt.Errorf("progress heard: %v", c.progress)
	}
	return nil
}

func (c *client) heardAll(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, steps := range c.progress {
		n -= len(steps)
	}
	return n <= 0
}

func (c *client) cancel(ctx context.Context) error {
	before, err := c.cancelled(ctx)
	if err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, beginning)
	defer cancel()
	if text, err := c.call(short, "slow", nil, nil); err == nil {
		return fmt.Errorf("the cancelled call was answered with %q", text)
	}
	for deadline := time.Now().Add(atOnce); time.Now().Before(deadline); {
		after, err := c.cancelled(ctx)
		if err != nil {
			return err
		}
		if after == before+1 {
			return nil
		}
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("the server did not hear of the cancellation")
}

func (c *client) cancelled(ctx context.Context) (int, error) {
	text, err := c.call(ctx, "cancelled", nil, nil)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

func (c *client) read(ctx context.Context) error {
	result, err := c.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "text://7"})
	if err != nil {
		return err
	}
	if len(result.Contents) != 1 || result.Contents[0].Text != "the text of text://7" {
		return fmt.Errorf("text://7 is %+v", result.Contents)
	}
	return nil
}

// listChanged causes a notification until one is heard: nothing is replayed.
func (c *client) listChanged(ctx context.Context) error {
	select {
	case <-c.changed:
	default:
	}
	for range 10 {
		if _, err := c.call(ctx, "grow", nil, nil); err != nil {
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

func (c *client) ping(ctx context.Context) error {
	if c.revision() >= modern {
		return report.Absence("2026-07-28 has no ping")
	}
	return c.session.Ping(ctx, nil)
}

func (c *client) big(ctx context.Context) error {
	text, err := c.call(ctx, "big", map[string]any{"bytes": bigBytes}, nil)
	if err == nil && len(text) != bigBytes {
		err = fmt.Errorf("asked for %d bytes and got %d", bigBytes, len(text))
	}
	return err
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
