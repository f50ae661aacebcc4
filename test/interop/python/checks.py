"""The checks that a client of the Python SDK makes, whichever of its two generations connected.

Each is a line of NDJSON on standard output, behind one that says which client it is.
"""

import argparse
import json
import os
import signal
import sys
import urllib.error
import urllib.request
from contextlib import AsyncExitStack
from functools import partial
from importlib.metadata import version

import anyio

WHOLE_RUN = 60
ONE_CHECK = 15
SOON = 10  # how long something may take to come through


class Failed(Exception):
    pass


def check_that(condition, detail):
    if not condition:
        raise Failed(detail)


def text(result):
    return result.content[0].text


async def list_pages(client):
    counts = []
    for member, key in (("tools", "name"), ("resources", "uri")):
        seen, number, cursor = [], 0, None
        while number == 0 or cursor is not None:
            items, cursor = await client.page(member, cursor)
            check_that(len(items) <= 10, f"a page of {member}/list has {len(items)} items, not 10 or fewer")
            seen += [str(getattr(item, key)) for item in items]
            number += 1
        check_that(number >= 3, f"{member}/list has {number} pages, not 3 or more")
        check_that(len(set(seen)) == len(seen), f"{member}/list lists {len(seen) - len(set(seen))} twice")
        enough = member != "tools" or (len(seen) >= 31 and "echo" in seen)
        check_that(enough, f"tools/list has {len(seen)} tools, not 31 or more with echo")
        check_that(member != "resources" or len(seen) == 25, f"resources/list has {len(seen)} resources, not 25")
        counts.append(f"{len(seen)} {member} on {number} pages")
    return ", ".join(counts)


async def call(client):
    said = 'plain, "quoted", \\, é, 漢, 😀, \u2028, \x00 and\nanother line'
    heard = text(await client.call("echo", {"text": said}))
    check_that(heard == said, f"echo changed {said!r} to {heard!r}")


async def progress(client):
    """Two calls at once, each with a number of steps of its own, so that a step that went astray shows."""
    heard = {5: [], 7: []}

    async def make(steps):
        async def hear(progress, total, _message):
            heard[steps].append((progress, total))

        await client.call("progress", {"steps": steps}, progress_callback=hear)

    before = client.progress_heard()
    async with anyio.create_task_group() as group:
        for steps in heard:
            group.start_soon(make, steps)
    await client.call("echo", {"text": ""})  # what comes too late has come before this
    for steps, got in heard.items():
        check_that(got == [(i + 1, steps) for i in range(steps)], f"of {steps} steps it heard: {got}")
    astray = client.progress_heard() - before - sum(heard)
    check_that(astray == 0, f"{astray} progress notifications belong to no call")


async def cancel(client):
    async def cancelled():
        return int(text(await client.call("cancelled", {})))

    before = await cancelled()
    async with anyio.create_task_group() as group:
        stop = await group.start(client.cancellable, "slow")
        # The slow call shows nothing of having begun; calls that were made after it have come back when it surely has.
        for _ in range(5):
            await cancelled()
        await stop()
    now = before
    with anyio.move_on_after(SOON):
        while now == before:
            await anyio.sleep(0.05)
            now = await cancelled()
    check_that(now == before + 1, f"the server counts {now - before} cancelled calls, not 1")


async def read(client):
    uri = "text://7"
    contents = (await client.read(uri)).contents
    good = len(contents) == 1 and str(contents[0].uri) == uri and contents[0].text == f"the text of {uri}"
    check_that(good, f"resources/read gave {contents}")


async def list_changed(client):
    """What is said while nobody listens is not said again: so the list grows until it is heard."""
    async with client.tools_changes() as changed:
        for _ in range(SOON):
            await client.call("grow", {})
            with anyio.move_on_after(1):
                await changed()
                return
    raise Failed(f"no notifications/tools/list_changed within {SOON} s")


async def ping(client):
    await client.ping()


async def big_result(client):
    """As JSON: the second generation takes no event of more than 1 MiB."""
    size = 3_000_000
    length = len(text(await client.call("big", {"bytes": size})))
    check_that(length == size, f"{length} bytes came, not {size}")


def disconnected(url, session):
    """A session that was deleted is unknown to the server from then on."""
    if session is None:
        return
    request = urllib.request.Request(
        url,
        data=b'{"jsonrpc":"2.0","id":"after","method":"ping"}',
        headers={
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Mcp-Session-Id": session,
        },
    )
    try:
        status = urllib.request.urlopen(request, timeout=SOON).status
    except urllib.error.HTTPError as refusal:
        status = refusal.code
    check_that(status == 404, f"a request of the deleted session has status {status}, not 404")


CHECKS = {
    "list-pages": list_pages,
    "call": call,
    "progress": progress,
    "cancel": cancel,
    "read": read,
    "list-changed": list_changed,
    "ping": ping,
    "big-result": big_result,
}


def say(line):
    print(json.dumps(line, ensure_ascii=False, separators=(",", ":")), flush=True)


def described(error):
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"


async def outcome(name, work):
    """Makes one check and returns its line."""
    try:
        detail = await work()
    except Exception as error:
        return {"check": name, "ok": False, "detail": described(error)}
    return {"check": name, "ok": True} | ({"detail": detail} if isinstance(detail, str) else {})


async def all_checks(url, mode, connect):
    """Makes all checks and tells whether all are good."""
    stack, client = AsyncExitStack(), None

    # A time limit around these two would be a scope that the connection outlives: the clients have a limit of their own.
    async def enter():
        nonlocal client
        client = await stack.enter_async_context(connect(url, mode, ONE_CHECK))

    async def leave():
        await stack.aclose()
        disconnected(url, client.session())

    async def within_limit(work):
        check_that(client, "there is no connection")
        with anyio.fail_after(ONE_CHECK):
            return await work(client)

    lines = [await outcome("connect", enter)]
    revision = client.revision if client else ""
    say({"client": "python-sdk", "version": version("mcp"), "mode": mode, "revision": revision})
    say(lines[0])
    for name, work in CHECKS.items():
        absent = client.absent.get(name) if client else None
        lines.append({"check": name, "absent": absent} if absent else await outcome(name, partial(within_limit, work)))
        say(lines[-1])
    lines.append(await outcome("disconnect", leave if client else partial(within_limit, None)))
    say(lines[-1])
    return all(line.get("ok", True) for line in lines)


def run(modes, connect):
    """Makes all checks with what connect(url, mode, limit) gives, and ends the process: with status 0 when all are good."""
    parser = argparse.ArgumentParser(prog="run")
    parser.add_argument("--url", required=True)
    parser.add_argument("--mode", choices=modes, default=modes[0])
    given = parser.parse_args()

    def too_late(*_):
        print(f"not done within {WHOLE_RUN} s", file=sys.stderr)
        os._exit(1)

    signal.signal(signal.SIGALRM, too_late)
    signal.alarm(WHOLE_RUN)
    sys.exit(0 if anyio.run(all_checks, given.url, given.mode, connect) else 1)
