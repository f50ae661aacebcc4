"""What is answered."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ErrorData,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    Result,
    TextContent,
    TextResourceContents,
    Tool,
)

INVALID_PARAMS = -32602


class Refused(Exception):
    """Is answered with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = ErrorData(code=code, message=message, data=data)


class Unserved(Exception):
    """Is answered with a Close alone."""


@dataclass
class Broken:
    """Is answered with a message, and then the end of TCP without a Close."""

    result: Result


NONE = {"type": "object"}
ECHO = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "afterMs": {"type": "integer", "minimum": 0}},
    "required": ["text"],
}
TOOLS = [
    Tool(name="echo", description="says the text back, after so many milliseconds", input_schema=ECHO),
    Tool(name="abrupt", description="breaks off the first time", input_schema=NONE),
    Tool(name="unserved", description="is not served", input_schema=NONE),
    Tool(name="error", description="answers an error", input_schema=NONE),
    Tool(name="notify", description="says that the list of tools changed", input_schema=NONE),
]
RESOURCES = [Resource(uri="text://1", name="text 1", mime_type="text/plain")]


def said(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)])


@dataclass
class Tools:
    """The provider's tools; tools_changed returns once that notification was written."""

    tools_changed: Callable[[], Awaitable[None]]
    broke: bool = field(default=False, init=False)

    async def outcome(self, path: str, params: Any) -> Result | Broken:
        match path:
            case "list-tools":
                return self.only_page(params, ListToolsResult(tools=TOOLS))
            case "list-resources":
                return self.only_page(params, ListResourcesResult(resources=RESOURCES))
            case "read-resource":
                return self.read(params)
            case "call-tool":
                return await self.call(params)
        raise AssertionError(path)

    def only_page(self, params: PaginatedRequestParams | None, page: Result) -> Result:
        if params is not None and params.cursor is not None:
            raise Refused(INVALID_PARAMS, f"no page {params.cursor}")
        return page

    def read(self, params: ReadResourceRequestParams) -> ReadResourceResult:
        if params.uri != "text://1":
            raise Refused(INVALID_PARAMS, "no such resource", {"uri": params.uri})
        contents = TextResourceContents(uri="text://1", mime_type="text/plain", text="the text of text://1")
        return ReadResourceResult(contents=[contents])

    async def call(self, params: CallToolRequestParams) -> Result | Broken:
        match params.name:
            case "echo":
                return await self.echo(params.arguments or {})
            case "abrupt":
                self.broke = not self.broke
                return Broken(said("must not be heard")) if self.broke else said("again")
            case "unserved":
                raise Unserved
            case "error":
                raise Refused(-32099, "as asked")
            case "notify":
                await self.tools_changed()
                return said("notified")
        raise Refused(INVALID_PARAMS, f"unknown tool {params.name}")

    async def echo(self, arguments: dict[str, Any]) -> CallToolResult:
        text = arguments.get("text")
        if not isinstance(text, str):
            raise Refused(INVALID_PARAMS, "echo needs a text")
        if isinstance(after := arguments.get("afterMs"), int):
            await asyncio.sleep(after / 1000)
        return said(text)
