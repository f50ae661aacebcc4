//go:build linux

package render

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-analyze/charts"

	"github.com/diverge-network/gateway/bench/suite"
)

const (
	chartWidth  = 860
	chartHeight = 420
	labelRoom   = 40
)

// Charts draws what the results have into dir, as SVG.
func Charts(dir string, r *suite.Results) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		draw func(*charts.Painter, *suite.Results) error
		has  bool
	}{
		{"exchange", exchangeChart, r.Exchange != nil},
		{"fanout", fanOutChart, r.FanOut != nil},
		{"idle", idleChart, r.Idle != nil},
		{"growth", growthChart, r.Growth != nil},
	} {
		if !c.has {
			continue
		}
		p := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputSVG, Width: chartWidth, Height: chartHeight})
		if err := c.draw(p, r); err != nil {
			return fmt.Errorf("the chart %s: %w", c.name, err)
		}
		svg, err := p.Bytes()
		if err != nil {
			return fmt.Errorf("the chart %s: %w", c.name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, c.name+".svg"), append(svg, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

var padding = charts.Box{Top: 20, Right: 60, Bottom: 20, Left: 20}

// bars is a horizontal bar chart of one value for each name, the first on top.
func bars(p *charts.Painter, title string, names []string, stacked []string, series ...[]float64) error {
	n := len(names)
	labels := make([]string, n)
	values := make([][]float64, len(series))
	for i, name := range names {
		labels[n-1-i] = name
	}
	for k, s := range series {
		values[k] = make([]float64, n)
		for i, v := range s {
			values[k][n-1-i] = v
		}
	}
	opt := charts.NewBarChartOptionWithData(values)
	opt.Horizontal = true
	opt.Padding = padding
	opt.Title.Text = title
	opt.CategoryAxis.Labels = labels
	// Viewers without the font that widths are reckoned in need more room.
	opt.CategoryAxis.LabelFontStyle.FontSize = 10
	opt.CategoryAxis.LabelOffset.Left = -labelRoom
	opt.Padding.Left += labelRoom
	opt.ValueAxis = []charts.ValueAxisOption{{Min: charts.Ptr(0.0), LabelCount: 6, ValueFormatter: onAxis}}
	if len(stacked) > 0 {
		opt.StackSeries = charts.Ptr(true)
		opt.Legend.SeriesNames = stacked
		opt.Legend.Offset = charts.OffsetRight
	} else {
		for i := range opt.SeriesList {
			opt.SeriesList[i].Label.Show = charts.Ptr(true)
			opt.SeriesList[i].Label.ValueFormatter = count
		}
	}
	return p.BarChart(opt)
}

// line is one line of a chart.
type line struct {
	name   string
	values []float64
}

func lines(p *charts.Painter, title string, labels []string, all ...line) error {
	var values [][]float64
	var names []string
	for _, l := range all {
		values, names = append(values, l.values), append(names, l.name)
	}
	opt := charts.NewLineChartOptionWithData(values)
	opt.Padding = padding
	opt.Title.Text = title
	opt.XAxis.Labels = labels
	opt.YAxis = []charts.YAxisOption{{Min: charts.Ptr(0.0), ValueFormatter: onAxis}}
	opt.Legend.SeriesNames = names
	opt.Legend.Offset = charts.OffsetStr{Left: charts.PositionRight, Top: "24"}
	return p.LineChart(opt)
}

func exchangeChart(p *charts.Painter, r *suite.Results) error {
	e := r.Exchange
	names := []string{"combined floor", "gateway, 1 container", "gateway, 16 containers"}
	values := []float64{e.Floor().Median(suite.Rate), e.Gateway1.Median(suite.Rate), e.Gateway16.Median(suite.Rate)}
	add := func(name string, s *suite.Series) {
		names, values = append(names, name), append(values, s.Median(suite.Rate))
	}
	add("Go SDK's server, sessions", e.SDKSessions)
	add("Go SDK's server, stateless", e.SDKStateless)
	if r.Peers != nil {
		for _, f := range r.Peers.Fronts {
			if f.Upstream == suite.UpstreamStub {
				add(f.Name+", stdio stub", f.Many)
			}
		}
	}
	return bars(p, "Exchanges a second, 64 callers, 256 B", names, nil, values)
}

func fanOutChart(p *charts.Painter, r *suite.Results) error {
	var labels []string
	gateway, loop, centrifugo := line{name: "gateway"}, line{name: "bare write loop"}, line{name: "Centrifugo"}
	for _, s := range r.FanOut.Sizes {
		if s.Window > 1 {
			continue
		}
		labels = append(labels, plural(s.Streams, "stream"))
		gateway.values = append(gateway.values, s.Gateway.Median(suite.Rate))
		loop.values = append(loop.values, s.Loop.Median(suite.Rate))
		if s.Centrifugo != nil {
			centrifugo.values = append(centrifugo.values, s.Centrifugo.Median(suite.Rate))
		}
	}
	all := []line{gateway, loop}
	if len(centrifugo.values) == len(labels) {
		all = append(all, centrifugo)
	}
	return lines(p, "Events delivered a second", labels, all...)
}

func idleChart(p *charts.Painter, r *suite.Results) error {
	short := map[string]string{
		suite.IdleSocket:    "WebSocket, with its container",
		suite.IdleStream:    "event stream, with its session",
		suite.IdleContainer: "container: two sockets, stream, state",
		suite.IdleBare:      "bare connection and goroutine",
	}
	var names []string
	var heap, stack []float64
	for _, c := range r.Idle.Costs {
		name := short[c.Name]
		if name == "" {
			name = c.Name
		}
		names, heap, stack = append(names, name), append(heap, float64(c.Heap)), append(stack, float64(c.Stack))
	}
	return bars(p, "Bytes of memory while idle, after traffic", names, []string{"heap", "stack"}, heap, stack)
}

func growthChart(p *charts.Painter, r *suite.Results) error {
	var labels []string
	exchange, notify := line{name: "CPU of an exchange"}, line{name: "CPU of a notification"}
	for _, s := range r.Growth.Sizes {
		labels = append(labels, plural(s.Containers, "container"))
		exchange.values = append(exchange.values, suite.Over(s.Exchange, s.ExchangeFew, suite.CPU).Median)
		notify.values = append(notify.values, suite.Over(s.Notify, s.NotifyFew, suite.CPU).Median)
	}
	return lines(p, "Cost as a multiple of that with 10 containers", labels, exchange, notify)
}
