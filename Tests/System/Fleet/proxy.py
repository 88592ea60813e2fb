# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""proxy.py PORT HOST:PORT DELAY SHIFT: a way to an etcd on which each byte takes DELAY seconds in each direction. The
dates of its answers are SHIFT seconds ahead."""

import asyncio
import datetime
import re
import sys

FORMAT = "%a, %d %b %Y %H:%M:%S GMT"


def shifted(data, shift):
    """The same bytes, with other dates of the same length."""

    def later(match):
        date = datetime.datetime.strptime(match[1].decode(), FORMAT) + datetime.timedelta(seconds=shift)
        return b"Date: " + date.strftime(FORMAT).encode()

    return re.sub(rb"Date: (\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT)", later, data) if shift else data


async def pump(reader, writer, delay, shift):
    loop = asyncio.get_running_loop()
    queue = asyncio.Queue()

    async def send():
        while True:
            at, data = await queue.get()
            if not data:
                break
            await asyncio.sleep(max(0, at - loop.time()))
            writer.write(data)
            await writer.drain()

    sender = asyncio.create_task(send())
    try:
        while True:
            data = await reader.read(1 << 16)
            queue.put_nowait((loop.time() + delay, shifted(data, shift)))
            if not data:
                break
        await sender
    except ConnectionError:
        sender.cancel()
    finally:
        writer.close()


async def serve(port, host, target, delay, shift):
    async def connect(reader, writer):
        try:
            others = await asyncio.open_connection(host, target)
        except OSError:
            return writer.close()
        await asyncio.gather(pump(reader, others[1], delay, 0), pump(others[0], writer, delay, shift))

    server = await asyncio.start_server(connect, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    host, _, target = sys.argv[2].partition(":")
    asyncio.run(serve(int(sys.argv[1]), host, int(target), float(sys.argv[3]), int(sys.argv[4])))
