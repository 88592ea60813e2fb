# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""proxy.py SOCKET: passes on what comes to a free TCP port of this machine, whose number it prints, to a Unix socket."""

import asyncio
import sys


async def pass_on(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def serve(reader, writer):
    try:
        inner_reader, inner_writer = await asyncio.open_unix_connection(sys.argv[1])
    except OSError:
        writer.close()
        return
    await asyncio.gather(pass_on(reader, inner_writer), pass_on(inner_reader, writer))


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


asyncio.run(main())
