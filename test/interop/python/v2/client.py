"""A client of the Python SDK's second generation.

With mode legacy it begins a session, with mode auto it probes for the stateless revision first.
"""

from contextlib import asynccontextmanager

import anyio
import httpx2
from mcp import Client as SDKClient
from mcp import types
from mcp.client.streamable_http import streamable_http_client

from checks import Failed, run

MODERN = "2026-07-28"


class Client:
    def __init__(self):
        self.progress = 0
        self.changed = anyio.Event()
        self.session_id = None

    async def hear(self, message):
        match message:
            case types.ProgressNotification():
                self.progress += 1
            case types.ToolListChangedNotification():
                self.changed.set()

    async def hear_response(self, response):
        self.session_id = response.headers.get("Mcp-Session-Id", self.session_id)

    def begun(self, sdk):
        self.sdk, self.revision = sdk, sdk.protocol_version
        self.absent = {"ping": f"{MODERN} has no ping"} if self.revision >= MODERN else {}

    def session(self):
        return None if self.revision >= MODERN else self.session_id

    def progress_heard(self):
        return self.progress

    async def page(self, member, cursor):
        result = await (self.sdk.list_tools if member == "tools" else self.sdk.list_resources)(cursor=cursor)
        return getattr(result, member), result.next_cursor

    async def call(self, name, arguments, **options):
        return await self.sdk.call_tool(name, arguments, **options)

    async def cancellable(self, name, *, task_status):
        """Calls a tool; the function that it reports cancels the call."""
        scope = anyio.CancelScope()

        async def stop():
            scope.cancel()

        with scope:
            task_status.started(stop)
            await self.call(name, {})

    async def read(self, uri):
        return await self.sdk.read_resource(uri)

    @asynccontextmanager
    async def tools_changes(self):
        if self.revision < MODERN:
            self.changed = anyio.Event()
            yield self.changed.wait
            return
        async with self.sdk.listen(tools_list_changed=True) as subscription:
            if not subscription.honored.tools_list_changed:
                raise Failed("the server did not honour toolsListChanged")
            yield subscription.__anext__

    async def ping(self):
        await self.sdk.session.send_ping()


@asynccontextmanager
async def connect(url, mode, limit):
    client = Client()
    timeout = httpx2.Timeout(30, read=300)  # as the SDK's own
    hooks = {"response": [client.hear_response]}
    async with httpx2.AsyncClient(timeout=timeout, event_hooks=hooks) as http:
        transport = streamable_http_client(url, http_client=http)
        async with SDKClient(transport, mode=mode, read_timeout_seconds=limit, message_handler=client.hear) as sdk:
            client.begun(sdk)
            yield client


run(["legacy", "auto"], connect)
