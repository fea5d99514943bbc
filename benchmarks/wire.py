"""Our channels against what one would write with asyncio and TLS, and against bare blocking sockets.

Both ends run in this process; the time is that of the processor, for both ends together.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.clock import race
from benchmarks.table import Finding
from discreet.protocols.step import Limit, Receive
from discreet.wire.channel import Channel
from discreet.wire.identity import Home
from discreet.wire.tls import Place, dial, listen

if TYPE_CHECKING:
    from discreet.wire.identity import Identity

__all__ = ["run"]

_BLOCK = np.zeros(1 << 17, "<u8")
_SMALL = np.zeros(4, "<u8")


def run(full: bool) -> list[Finding]:
    """Megabytes one way, and messages to and fro."""
    blocks, turns = (256, 4000) if full else (64, 500)
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        pair = home.new("one"), home.new("two")
        stream = race(
            {
                "ours": lambda: asyncio.run(_ours(pair, _BLOCK, blocks, answer=False)),
                "asyncio": lambda: asyncio.run(_plain(pair, _BLOCK, blocks, answer=False)),
                "blocking": lambda: _blocking(pair, blocks),
            },
            5,
        )
        turn = race(
            {
                "ours": lambda: asyncio.run(_ours(pair, _SMALL, turns, answer=True)),
                "asyncio": lambda: asyncio.run(_plain(pair, _SMALL, turns, answer=True)),
            },
            5,
        )
    megabytes = blocks * _BLOCK.nbytes / 1e6
    speed = {name: f"{megabytes / seconds:.0f} MB/s" for name, seconds in stream.items()}
    pace = {name: f"{seconds / turns * 1e6:.0f} us" for name, seconds in turn.items()}
    return [
        Finding(
            "stream of tables: asyncio streams",
            speed["ours"],
            speed["asyncio"],
            stream["asyncio"] / stream["ours"],
            0.8,
        ),
        Finding(
            "stream of tables: blocking sockets",
            speed["ours"],
            speed["blocking"],
            stream["blocking"] / stream["ours"],
        ),
        Finding(
            "message and answer: asyncio streams",
            pace["ours"],
            pace["asyncio"],
            turn["asyncio"] / turn["ours"],
        ),
    ]


async def _ours(pair: tuple[Identity, Identity], array: Any, count: int, *, answer: bool) -> None:
    one, two = pair
    listener = await listen(one, [two.card], Place("127.0.0.1", 0))
    dialled, (_, accepted) = await asyncio.gather(
        dial(two, one.card, listener.place, wait=10), listener.accept(10)
    )
    first, second = Channel(accepted), Channel(dialled)
    wish = Receive("x", {"x": Limit.array(array.dtype.str, array.shape)})

    async def talk() -> None:
        for _ in range(count):
            await first.send("x", {"x": array}, "x")
            if answer:
                await first.receive(wish, "x")

    async def hear() -> None:
        for _ in range(count):
            await second.receive(wish, "x")
            if answer:
                await second.send("x", {"x": array}, "x")

    await asyncio.gather(talk(), hear())
    await asyncio.gather(first.close(), second.close())
    await listener.close()


async def _plain(pair: tuple[Identity, Identity], array: Any, count: int, *, answer: bool) -> None:
    """What one would write without this package: a length, the bytes, and asyncio's streams."""
    done = asyncio.Event()

    async def read(reader: asyncio.StreamReader) -> Any:
        (length,) = struct.unpack("<Q", await reader.readexactly(8))
        return np.frombuffer(await reader.readexactly(length), array.dtype)

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(struct.pack("<Q", array.nbytes) + array.tobytes())
        await writer.drain()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(count):
            await read(reader)
            if answer:
                await write(writer)
        writer.close()
        done.set()

    server = await asyncio.start_server(
        serve, "127.0.0.1", 0, ssl=_context(*pair, ssl.PROTOCOL_TLS_SERVER), limit=1 << 21
    )
    reader, writer = await asyncio.open_connection(
        *server.sockets[0].getsockname()[:2],
        ssl=_context(*pair[::-1], ssl.PROTOCOL_TLS_CLIENT),
        limit=1 << 21,
    )
    for _ in range(count):
        await write(writer)
        if answer:
            await read(reader)
    await done.wait()
    writer.close()
    server.close()


def _blocking(pair: tuple[Identity, Identity], count: int) -> None:
    """The floor: nothing but TLS, two threads, memory that is used again."""
    import socket

    server = socket.create_server(("127.0.0.1", 0))
    size = _BLOCK.nbytes

    def serve() -> None:
        plain, _ = server.accept()
        with _context(*pair, ssl.PROTOCOL_TLS_SERVER).wrap_socket(plain, server_side=True) as stream:
            view = memoryview(bytearray(size))
            for _ in range(count):
                got = 0
                while got < size:
                    got += stream.recv_into(view[got:])
            stream.send(b"x")

    thread = threading.Thread(target=serve)
    thread.start()
    client = _context(*pair[::-1], ssl.PROTOCOL_TLS_CLIENT)
    with client.wrap_socket(socket.create_connection(server.getsockname())) as stream:
        for _ in range(count):
            stream.sendall(_BLOCK)
        stream.recv(1)
    thread.join()
    server.close()


def _context(me: Identity, other: Identity, side: int) -> ssl.SSLContext:
    context = ssl.SSLContext(side)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(me.certificate, me.key)
    context.load_verify_locations(cadata=other.card.pem.decode())
    return context
