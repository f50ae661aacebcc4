package inside

import (
	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/toolheader"
	"github.com/diverge-network/gateway/pkg/codec"
)

// toolLimits bound what is remembered of one container's tools. Calls of those
// beyond are not checked.
var toolLimits = toolheader.Limits{Tools: 256, Bytes: 64 << 10}

// learn remembers which tools of a list that passes have headers of their own.
// params are those of the request that it answers.
func (f *Face) learn(params, result []byte) {
	tools := f.tools.Load()
	if tools == nil && !toolheader.Mentioned(result) {
		return
	}
	page, err := toolheader.Read(result)
	if err != nil || tools == nil && !page.Annotated() {
		return
	}
	if tools == nil {
		tools = toolheader.New(toolLimits)
		if !f.tools.CompareAndSwap(nil, tools) {
			if tools = f.tools.Load(); tools == nil { // they have just changed
				return
			}
		}
	}
	tools.Learn(&page, page.Next == nil && isFirstPage(params))
}

// isFirstPage reports whether the params of a list ask for its beginning.
func isFirstPage(params []byte) bool {
	if params == nil || string(params) == "null" {
		return true
	}
	cursor, err := codec.Member(params, "cursor")
	return err == nil && (cursor == nil || string(cursor) == "null")
}

// faultOfParams says how the headers of a tools/call do not repeat its arguments,
// or "". The tool may not be known: then nothing is expected of them.
func (h *Handler) faultOfParams(header *fasthttp.RequestHeader, p *posting) string {
	if string(p.message.Method) != methodCall {
		return ""
	}
	c := h.mux.Lookup(p.container) // a request that is refused does not begin one
	if c == nil {
		return ""
	}
	tools := c.Sink().(*Face).tools.Load()
	if tools == nil {
		return ""
	}
	name, _ := textOf(p.message.Name)
	tool := tools.Find(name)
	if tool == nil {
		return ""
	}
	arguments, err := codec.Member(p.message.Params, "arguments")
	if err != nil {
		return "params cannot be compared with their headers: " + err.Error()
	}
	return tool.Fault(arguments, func(name string) [][]byte { return header.PeekAll(name) })
}
