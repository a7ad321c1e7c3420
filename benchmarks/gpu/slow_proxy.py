"""A proxy on loopback that holds what the server answers: python benchmarks/gpu/slow_proxy.py TO_PORT PORT DELAY_S."""

from __future__ import annotations

import asyncio
import contextlib
import sys


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
    """Bytes one way, each piece ``delay_s`` later than it came; the order stays."""
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def pour() -> None:
        while True:
            due, piece = await pieces.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            if not piece:
                writer.close()
                return
            writer.write(piece)
            await writer.drain()

    pouring = asyncio.create_task(pour())
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(65536):
            pieces.put_nowait((loop.time() + delay_s, piece))
    pieces.put_nowait((loop.time() + delay_s, b""))
    with contextlib.suppress(ConnectionError):
        await pouring


async def serve(to_port: int, port: int, delay_s: float) -> None:
    """Serve until ended."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", to_port)
        await asyncio.gather(carry(reader, server_writer, 0.0), carry(server_reader, writer, delay_s))

    async with await asyncio.start_server(handle, "127.0.0.1", port, limit=2**20) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
