"""A worker: a process that computes one role at a time and has neither network nor keys.

The process of the service holds the keys and talks to clients; its workers hold the private input and talk to
that process only, over a pair of sockets, in the same frames as between parties. What a role sends is
carried on while the role computes what comes next.

    service -> worker   begin {load, private}, job {function, role, agreed, memory}, content, stop
    worker -> service   ready, send {name} + content, receive {name, limits}, output, failed, stopped

**Reveals** to the process of the service the messages and the output of the role. That process has read the
private input as well, to make its offer, but runs no role.
"""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from discreet.errors import DiscreetError, PeerError
from discreet.protocols.step import Send, arrays_of
from discreet.randomness import secure
from discreet.session.parcel import defect, pack, plain_error, unpack
from discreet.session.rehearsal import Part
from discreet.wire import frame

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from discreet.protocols.step import Arrays, Receive, Steps
    from discreet.wire.frame import Announced

__all__ = ["Anything", "held_bytes", "keep", "main"]


class Anything:
    """A wish for whatever the other end of the pair says; it remembers the name. Both ends are our own."""

    def __init__(self) -> None:
        self.name = ""

    def check_announced(self, name: str, announced: Announced) -> None:
        """Note the name."""
        self.name = name

    def check(self, arrays: Arrays) -> None:
        """Nothing is refused: limits are those of the roles, and are checked where strangers are heard."""


def keep(private: Any) -> Any:
    """A private input as it is: the loader of services that have nothing to load."""
    return private


def main() -> None:
    """Serve the process at the other end, until it closes: what a worker process runs."""
    with socket.socket(fileno=int(sys.argv[1])) as pair:
        os.dup2(2, 1)  # what a role prints is no part of the answer
        with suppress(PeerError, ConnectionError):
            _Worker(_Line(pair)).serve()


class _Line:
    """Messages with the process of the service, in turn."""

    def __init__(self, pair: socket.socket) -> None:
        self._pair = pair
        self._written = 0
        self._read = 0

    def say(self, name: str, plain: Mapping[str, Any] | None = None) -> None:
        """Send plain data."""
        self.send(name, {"plain": pack(dict(plain or {}))})

    def send(self, name: str, arrays: Arrays) -> None:
        """Send arrays."""
        for data in frame.write_message(self._written, name, arrays):
            self._pair.sendall(data)
            self._written += 1

    def hear(self) -> tuple[str, Arrays]:
        """Wait for the next message."""
        wish = Anything()
        arrays, self._read, _ = self._fill(frame.read_message(self._read, wish))
        return wish.name, arrays

    def _fill(self, reading: Generator[memoryview, None, Any]) -> Any:
        try:
            view = next(reading)
            while True:
                while len(view):
                    count = self._pair.recv_into(view)
                    if not count:
                        raise PeerError("the service has ended")
                    view = view[count:]
                view = reading.send(None)
        except StopIteration as end:
            return end.value


class _Worker:
    """The state of a worker: its private input, and the line to the service."""

    def __init__(self, line: _Line) -> None:
        self.line = line

    def serve(self) -> None:
        """Load, then one job after the other."""
        _, arrays = self.line.hear()
        begin = _plain(arrays)
        try:
            self.private = Part(begin["load"]).load()(begin["private"])
        except Exception as error:  # noqa: BLE001
            self.line.say("failed", _told("loader", error))
            return
        self.line.say("ready", {"held": held_bytes()})
        while True:
            name, arrays = self.line.hear()
            if name == "stop":
                self.line.say("stopped")
            else:
                self._perform(_plain(arrays))

    def _perform(self, job: dict[str, Any]) -> None:
        """One job; whatever goes wrong in it is told, and the worker is there for the next."""
        try:
            with _Ceiling(job["memory"]):
                steps = Part(job["function"]).load()(self.private, job["agreed"], secure())
                try:
                    stopped, output = self._carry(steps)
                finally:
                    steps.close()
            if stopped:
                self.line.say("stopped")
            else:
                self.line.say("output", {"output": output, "held": held_bytes()})
        except (PeerError, ConnectionError):
            raise  # of the line: roles that wait hear of a lost client by a stop
        except Exception as error:  # noqa: BLE001
            self.line.say("failed", _told(job["role"], error))

    def _carry(self, steps: Steps[Any]) -> tuple[bool, Any]:
        """Let the role work: whether it was stopped, and its output."""
        answer: Arrays | None = None
        while True:
            try:
                asked = steps.send(answer)
            except StopIteration as end:
                return False, end.value
            if isinstance(asked, Send):
                answer = None
                self.line.say("send", {"name": asked.name, "peer": asked.peer})
                self.line.send("content", arrays_of(asked, copy=False))
            else:
                self.line.say("receive", _wish(asked))
                name, answer = self.line.hear()
                if name == "stop":
                    return True, None


class _Ceiling:
    """A limit on the memory that a role may take beyond what the process has; past it, `MemoryError`."""

    def __init__(self, room: int) -> None:
        self._room = room

    def __enter__(self) -> None:
        self._set(held_bytes() + self._room)

    def __exit__(self, *_: object) -> None:
        self._set(None)

    def _set(self, most: int | None) -> None:
        if sys.platform == "linux":
            import resource

            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            resource.setrlimit(resource.RLIMIT_DATA, (hard if most is None else most, hard))


def held_bytes() -> int:
    """Bytes of private memory that this process has asked for; 0 where the system does not say."""
    try:
        with open("/proc/self/status") as file:  # noqa: PTH123
            found = next(line for line in file if line.startswith("VmData"))
    except (OSError, StopIteration):
        return 0
    return int(found.split()[1]) << 10


def _told(role: str, error: Exception) -> dict[str, Any]:
    own = error if isinstance(error, DiscreetError) else defect(role, error)
    return {**plain_error(own), "exhausted": isinstance(error, MemoryError)}


def _plain(arrays: Arrays) -> dict[str, Any]:
    return unpack(cast("bytes", arrays["plain"]))


def _wish(asked: Receive) -> dict[str, Any]:
    limits = {key: [limit.dtype, limit.shape, limit.most] for key, limit in asked.limits.items()}
    return {"name": asked.name, "peer": asked.peer, "limits": limits}
