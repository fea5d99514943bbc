"""A crew: the workers of a service, started before they are needed, and replaced when they fail.

**Costs** a process for each worker, with the private input loaded in each. A role that is late, takes more
memory than it may, or dies, takes its worker with it and nothing else.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from discreet.errors import PartyError, PeerError
from discreet.protocols.step import Limit, Receive, Send
from discreet.session.parcel import error_of, pack, unpack
from discreet.session.worker import Anything
from discreet.wire.channel import Channel
from discreet.wire.tls import TlsStream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from discreet.protocols.step import Arrays

__all__ = ["Crew", "Errand", "Worker"]

_COMMAND = "from discreet.session.worker import main; main()"
_START, _LONGEST, _REST, _PAUSE = 120.0, 1e6, 5.0, 1.0
_BUFFER = 1 << 20
_SLACK = 64 << 20
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Errand:
    """What a worker is to do: a role by where it is imported from, what is agreed, and its memory."""

    function: str
    role: str
    agreed: Mapping[str, Any]
    memory: int


class Worker:
    """One worker process, as the service sees it."""

    def __init__(self, process: subprocess.Popen[bytes], channel: Channel) -> None:
        self.process = process
        self.channel = channel
        self.resting = True
        self.worn = False
        self.most = 0

    @staticmethod
    async def start(load: str, private: Any) -> Worker:
        """Start a process and let it load its private input.

        Raises what the loader raises.
        """
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-c", _COMMAND, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={**os.environ, **_ONE_THREAD, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,  # an interruption at the terminal is for the service to handle
            )
        ours.setblocking(False)
        try:
            _, stream = await asyncio.get_running_loop().create_unix_connection(TlsStream, sock=ours)
        except BaseException:
            process.kill()
            process.wait()
            raise
        worker = Worker(process, Channel(stream, silence=_LONGEST))
        try:
            async with asyncio.timeout(_START):
                await worker.say("begin", {"load": load, "private": private})
                name, plain = await worker.hear()
        except BaseException:
            worker.kill()
            raise
        if name == "failed":
            worker.kill()
            raise _error(plain)
        worker.most = plain["held"] + _SLACK
        return worker

    @property
    def alive(self) -> bool:
        """Whether it can be given another errand."""
        return not self.worn and not self.channel.stream.ended and self.process.poll() is None

    def take(self, errand: Errand) -> _Away:
        """The role of an errand, as `discreet.session.run` takes it."""
        return _Away(self, errand)

    async def rest(self) -> None:
        """Stop what it does. Who does not stop soon is ended."""
        if self.resting or not self.alive:
            return
        try:
            async with asyncio.timeout(_REST):
                await self.say("stop")
                while (await self.hear())[0] != "stopped":
                    pass
            self.resting = True
        except (PartyError, TimeoutError):
            self.kill()

    def kill(self) -> None:
        """End the process."""
        self.worn = True
        self.process.kill()
        self.process.wait()
        self.channel.stream.cut()

    async def say(self, name: str, plain: Mapping[str, Any] | None = None) -> None:
        """Send plain data."""
        await self.channel.send(name, {"plain": pack(dict(plain or {}))}, "pair")

    async def hear(self) -> tuple[str, dict[str, Any]]:
        """Wait for a word and its plain data; arrays are passed over."""
        wish = Anything()
        arrays = await self.channel.receive(wish, "pair")
        return wish.name, {} if wish.name == "content" else unpack(cast("bytes", arrays["plain"]))


class _Away:
    """A role that a worker computes."""

    def __init__(self, worker: Worker, errand: Errand) -> None:
        self._worker = worker
        self._errand = errand
        self._asked: Send | Receive | None = None

    async def advance(
        self, answer: Arrays | None, loss: PeerError | None
    ) -> tuple[Send | Receive | None, Any]:
        """Hand over what the role waits for, and hear what it asks next."""
        if loss is not None:
            raise loss  # a service has one client, and nothing to do without it
        broken, self._worker.worn = self._worker.worn, True  # unless we come to the end of this step
        if broken:
            raise PartyError("a worker ended early")
        try:
            if self._asked is None:
                self._worker.resting = False
                await self._worker.say("job", self._errand.__dict__)
            elif isinstance(self._asked, Receive):
                assert answer is not None
                await self._worker.channel.send("content", answer, "pair")
            name, plain = await self._worker.hear()
            self._asked = await self._next(name, plain)
        except PeerError as error:
            raise PartyError("a worker ended early", remedy="Had it enough memory?") from error
        grown = plain.get("held", 0) > self._worker.most + self._errand.memory
        self._worker.worn = grown or bool(plain.get("exhausted"))
        if name == "failed":
            raise _error(plain)
        return self._asked, plain.get("output")

    async def _next(self, name: str, plain: dict[str, Any]) -> Send | Receive | None:
        if name == "send":
            return Send(plain["name"], await self._worker.channel.receive(Anything(), "pair"), plain["peer"])
        if name == "receive":
            limits = {
                key: Limit(dtype, None if shape is None else tuple(shape), most)
                for key, (dtype, shape, most) in plain["limits"].items()
            }
            return Receive(plain["name"], limits, plain["peer"])
        self._worker.resting = True
        return None

    def close(self) -> None:
        """Nothing more is asked of the role; `Worker.rest` makes the worker ready for the next."""


class Crew:
    """So many workers."""

    def __init__(self, load: str, private: Any, count: int) -> None:
        self._load = load
        self._private = private
        self._count = count
        self._free: asyncio.Queue[Worker] = asyncio.Queue()
        self._all: set[Worker] = set()
        self._hired: set[asyncio.Task[None]] = set()
        self.replaced = 0

    async def start(self) -> None:
        """Start all workers; raises what the loader raises."""
        started = await asyncio.gather(*(self._hire() for _ in range(self._count)), return_exceptions=True)
        failed = [one for one in started if isinstance(one, BaseException)]
        if failed:
            await self.stop()
            raise failed[0]

    @asynccontextmanager
    async def lease(self) -> AsyncGenerator[Worker]:
        """The next worker that gets free, for one errand."""
        worker = await self._next()
        try:
            yield worker
            await worker.rest()
        except Exception:
            await worker.rest()
            raise
        finally:  # also if we are interrupted, with the worker in the middle of something
            if worker.resting and worker.alive:
                self._free.put_nowait(worker)
            else:
                self._replace(worker)

    async def stop(self) -> None:
        """End all workers."""
        hired = list(self._hired)
        for task in hired:
            task.cancel()
        await asyncio.gather(*hired, return_exceptions=True)
        for worker in self._all:
            worker.kill()
        self._all.clear()

    @property
    def processes(self) -> list[int]:
        """The numbers of the processes."""
        return sorted(worker.process.pid for worker in self._all)

    @property
    def free(self) -> int:
        """How many have nothing to do."""
        return self._free.qsize()

    async def _next(self) -> Worker:
        while True:
            worker = await self._free.get()
            if worker.alive:
                return worker
            self._replace(worker)

    async def _hire(self) -> None:
        worker = await Worker.start(self._load, self._private)
        self._all.add(worker)
        self._free.put_nowait(worker)

    def _replace(self, worker: Worker) -> None:
        self._all.discard(worker)
        worker.kill()
        self.replaced += 1
        task = asyncio.ensure_future(self._rehire())
        self._hired.add(task)
        task.add_done_callback(self._hired.discard)

    async def _rehire(self) -> None:
        """Start another one; if this machine cannot now, try until it can."""
        while True:
            with suppress(PartyError, OSError, TimeoutError):
                return await self._hire()
            await asyncio.sleep(_PAUSE)


def _error(plain: dict[str, Any]) -> Exception:
    return error_of({key: value for key, value in plain.items() if key != "exhausted"})
