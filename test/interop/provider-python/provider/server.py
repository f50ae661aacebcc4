"""The provider's side of one container: its connections."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from mcp_types import ToolListChangedNotification
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from provider.frame import ERROR, RESULT, Ask, Malformed, decode, encode
from provider.tools import Broken, Refused, Tools, Unserved

PAUSE = 0.2  # seconds between one /requests connection and the next
MAX_MESSAGE = 64 << 20


class Server:
    def __init__(self, url: str, who: dict[str, str]) -> None:
        self.url = url
        self.who = who
        self.tools = Tools(self.tools_changed)
        self.paths = asyncio.Condition()
        self.notifications: ClientConnection | None = None
        self.answering: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Keeps a /requests connection. Raises Malformed for an ask that cannot be understood."""
        introduced = False
        while True:
            try:
                async with connect(f"{self.url}/requests", max_size=MAX_MESSAGE, proxy=None) as requests:
                    if not introduced:
                        print(json.dumps(self.who), flush=True)
                        introduced = True
                    await self.asks(requests)
            except (OSError, InvalidHandshake, ConnectionClosed) as error:
                print(f"{self.url}/requests: {error}", file=sys.stderr)
            await asyncio.sleep(PAUSE)

    async def asks(self, requests: ClientConnection) -> None:
        """Takes the asks of one connection."""
        async for message in requests:
            if not isinstance(message, bytes):
                continue
            try:
                self.take(decode(message))
            except Malformed:
                requests.transport.abort()
                raise

    def take(self, ask: Ask) -> None:
        """Answers an ask on its own."""
        work = self.notify(ask) if ask.kind.params is None else self.answer(ask)
        task = asyncio.create_task(self.reported(ask, work))
        self.answering.add(task)
        task.add_done_callback(self.answering.discard)

    async def reported(self, ask: Ask, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except (OSError, InvalidHandshake, ConnectionClosed) as error:
            print(f"/mcp/{ask.kind.path}/{ask.channel}: {error}", file=sys.stderr)

    @contextlib.asynccontextmanager
    async def opened(self, ask: Ask) -> AsyncIterator[ClientConnection]:
        path = await connect(f"{self.url}/mcp/{ask.kind.path}/{ask.channel}", max_size=MAX_MESSAGE, proxy=None)
        print(json.dumps({"opened": ask.kind.path, "channel": ask.channel}), flush=True)
        try:
            yield path
        except BaseException:
            # A Close would say that the ask was answered, or not served (A6).
            path.transport.abort()
            raise
        await path.close()

    async def answer(self, ask: Ask) -> None:
        async with self.opened(ask) as path:
            outcome = asyncio.create_task(self.tools.outcome(ask.kind.path, ask.params))
            closed = asyncio.create_task(path.wait_closed())
            try:
                await asyncio.wait({outcome, closed}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                closed.cancel()
                outcome.cancel()
            if not outcome.done():
                return  # the caller cancelled (A10), or the gateway is gone
            try:
                result = outcome.result()
            except Unserved:
                return
            except Refused as refused:
                await path.send(encode(ERROR, refused.error))
                return
            if isinstance(result, Broken):
                await path.send(encode(RESULT, result.result))
                path.transport.abort()
                return
            await path.send(encode(RESULT, result))

    async def notify(self, ask: Ask) -> None:
        async with self.opened(ask) as path:
            async with self.paths:
                self.notifications = path
                self.paths.notify_all()
            await path.wait_closed()

    async def tools_changed(self) -> None:
        """Returns once the notification was written; waits for a path to write it on."""
        message = encode(RESULT, ToolListChangedNotification())
        last = None
        while True:
            async with self.paths:
                await self.paths.wait_for(lambda: self.notifications is not last)
                last = self.notifications
            try:
                return await last.send(message)
            except ConnectionClosed:
                pass
