"""Serves one container: --url ws://HOST:PORT/containers/ID.

Its first line on standard output says who it is, once /requests is open; after that there is one for each path that it opened.
"""

import argparse
import asyncio
import signal
import sys
from importlib.metadata import version

from provider.frame import Malformed
from provider.server import Server


async def main() -> int:
    parser = argparse.ArgumentParser(prog="run")
    parser.add_argument("--url", required=True, help="ws://HOST:PORT/containers/ID")
    url = parser.parse_args().url.rstrip("/")
    who = {"provider": "python", "version": f"websockets {version('websockets')}, mcp-types {version('mcp-types')}"}
    serving = asyncio.create_task(Server(url, who).serve())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    try:
        await serving
    except asyncio.CancelledError:
        return 0
    except Malformed as malformed:
        print(malformed, file=sys.stderr)
        return 1


sys.exit(asyncio.run(main()))
