"""A client of the Python SDK's first generation, which speaks the revisions with sessions."""

from contextlib import asynccontextmanager
from datetime import timedelta

import anyio
from mcp import ClientSession, types
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl

from checks import run


class Client:
    absent = {}

    def __init__(self, session_id):
        self.session_id = session_id
        self.progress = 0
        self.changed = anyio.Event()

    async def hear(self, message):
        match getattr(message, "root", None):
            case types.ProgressNotification():
                self.progress += 1
            case types.ToolListChangedNotification():
                self.changed.set()

    def begun(self, sdk, revision):
        self.sdk, self.revision = sdk, revision
        self.ended = self.session_id()

    def session(self):
        return self.ended

    def progress_heard(self):
        return self.progress

    async def page(self, member, cursor):
        params = types.PaginatedRequestParams(cursor=cursor)
        result = await (self.sdk.list_tools if member == "tools" else self.sdk.list_resources)(params=params)
        return getattr(result, member), result.nextCursor

    async def call(self, name, arguments, **options):
        return await self.sdk.call_tool(name, arguments, **options)

    async def cancellable(self, name, *, task_status):
        """Calls a tool; the function that it reports cancels the call."""
        scope = anyio.CancelScope()
        request = self.sdk._request_id  # the SDK has no call that cancels, nor one that tells a request's id

        async def stop():
            params = types.CancelledNotificationParams(requestId=request, reason="no longer wanted")
            await self.sdk.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))
            scope.cancel()

        with scope:
            task_status.started(stop)
            await self.call(name, {})

    async def read(self, uri):
        return await self.sdk.read_resource(AnyUrl(uri))

    @asynccontextmanager
    async def tools_changes(self):
        self.changed = anyio.Event()
        yield self.changed.wait

    async def ping(self):
        await self.sdk.send_ping()


@asynccontextmanager
async def connect(url, _mode, limit):
    async with streamable_http_client(url) as (incoming, outgoing, session_id):
        client = Client(session_id)
        patience = timedelta(seconds=limit)
        async with ClientSession(incoming, outgoing, patience, message_handler=client.hear) as sdk:
            begun = await sdk.initialize()
            client.begun(sdk, begun.protocolVersion)
            yield client


run(["legacy"], connect)
