"""A channel: messages with one peer over any stream of bytes, counted, in order, within a time-out.

**Trusts** the stream for secrecy and for who the peer is (`discreet.wire.tls`). A channel itself refuses
frames that are malformed, too long, repeated, lost, reordered or not asked for, and takes no memory for them.

Who sends waits until the peer reads, so that a long stream does not pile up, except while something else has
come in: two parties who talk to each other at once must both go on.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import LateError, PartyError, PeerError, ProtocolError
from discreet.wire import frame
from discreet.wire.meter import Meter

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
    from typing import TypeVar

    from discreet.wire.frame import Arrays, Frame, Wish

    Read = TypeVar("Read")

__all__ = ["QUEUED", "SILENCE", "WIRE", "Channel", "Stream"]

WIRE = 1
"""The version of frames and greetings; parties with different ones do not talk."""

SILENCE = 60.0
"""Seconds in which a frame must have come: more than the peer ever computes between two messages."""

QUEUED = 1 << 28
"""The most bytes that wait to be sent while the peer is talking too, unless a channel is told otherwise."""

_FAREWELL = 1.0
_BREATH = 1 << 18
"""After so many bytes a sender lets the event loop look at what has come in."""


class Stream(Protocol):
    """Bytes in both directions, between two parties who know each other."""

    @property
    def fingerprint(self) -> str:
        """Of the peer's certificate; empty in memory."""
        ...

    @property
    def held(self) -> int:
        """Bytes that have come in and that nobody has read."""
        ...

    @property
    def queued(self) -> int:
        """Bytes written that are still here; 0 as long as the peer keeps up."""
        ...

    @property
    def ended(self) -> bool:
        """Whether nothing more will come or go."""
        ...

    def write(self, data: bytes) -> None:
        """Hand over bytes to be sent."""
        ...

    async def fill(self, view: memoryview) -> None:
        """Read exactly as many bytes as the memory holds, or raise `PeerError`."""
        ...

    def news(self) -> asyncio.Future[None]:
        """Done when something changes from now on: bytes came in, there is room, or the stream ended."""
        ...

    async def close(self) -> None:
        """Send what is queued, and end."""
        ...

    def cut(self) -> None:
        """End at once."""
        ...


class Channel:
    """Messages with one peer. Not for two tasks at once in the same direction."""

    def __init__(self, stream: Stream, *, silence: float = SILENCE, queued: int = QUEUED) -> None:
        self.stream = stream
        self.silence = silence
        self.queued = queued
        self.meter = Meter()
        self._written = 0
        self._read = 0
        self._breath = 0

    @property
    def fingerprint(self) -> str:
        """Of the peer's certificate; empty in memory."""
        return self.stream.fingerprint

    async def send(self, name: str, arrays: Arrays, phase: str, others: Iterable[Channel] = ()) -> None:
        """Send a message, frame by frame; other channels are watched for somebody who talks to us.

        Raises `PeerError`, or `LateError` if nobody reads in time.
        """
        size = 0
        for data in frame.write_message(self._written, name, arrays):
            self.stream.write(data)
            self._written += 1
            size += len(data)
            await self._room(len(data), others)
        self.meter.note(phase, "sent", size)

    async def _room(self, written: int, others: Iterable[Channel]) -> None:
        """Wait until the peer reads, or somebody talks to us."""
        self._breath += written
        if self._breath >= _BREATH:
            self._breath = 0
            await asyncio.sleep(0)
        if self.stream.queued and not self.stream.ended:
            channels = {id(channel.stream): channel for channel in (self, *others)}.values()
            async with self._patience("did not read"):
                while self.stream.queued and not self.stream.ended:
                    if self.stream.queued < self.queued and any(channel.stream.held for channel in channels):
                        break
                    await _first([channel.stream.news() for channel in channels])
        if self.stream.ended:
            await self._last_words()
            raise PeerError(
                "the other party went away", remedy="Look at its side of the run, and start again."
            )

    async def receive(self, wish: Wish, phase: str) -> Arrays:
        """Wait for one message that meets the wish.

        Raises `ProtocolError`, `PeerError` or `LateError`.
        """
        arrays, self._read, size = await self._drive(frame.read_message(self._read, wish))
        self.meter.note(phase, "received", size)
        return arrays

    def greet(self, words: Mapping[str, str]) -> None:
        """Say who we are and what we want to run."""
        self._control(frame.HELLO, dict(words))

    async def greeting(self) -> dict[str, str]:
        """Wait for the other's greeting."""
        words = (await self._expect(frame.HELLO)).fields[0]
        if not all(type(key) is str and type(value) is str for key, value in words.items()):
            raise ProtocolError("a greeting holds something else than words")
        return {frame.clean(key): value for key, value in words.items()}

    def finish(self) -> None:
        """Say that our role is finished."""
        self._control(frame.DONE)

    async def finished(self) -> None:
        """Wait until the other's role is finished."""
        await self._expect(frame.DONE)

    def confirm(self) -> None:
        """Say that we have heard that everybody is finished."""
        self._control(frame.SURE)

    async def confirmed(self) -> None:
        """Wait until the other has heard it too."""
        await self._expect(frame.SURE)

    async def abort(self, reason: str) -> None:
        """Say that we give up, as far as this is still possible, and end."""
        with suppress(PartyError):
            self._control(frame.ABORT, reason)
        await self.close()

    async def close(self) -> None:
        """End. What is queued is sent if the peer takes it at once."""
        try:
            async with asyncio.timeout(_FAREWELL):
                await self.stream.close()
        except TimeoutError:
            self.stream.cut()

    def _control(self, kind: int, *fields: Any) -> None:
        self.stream.write(frame.write(kind, self._written, *fields))
        self._written += 1

    async def _expect(self, kind: int) -> Frame:
        got = await self._drive(frame.read_frame(self._read))
        self._read += 1
        if got.kind != kind:
            raise ProtocolError(
                "a message came that nobody waits for", got=frame.NAMES[got.kind], wanted=frame.NAMES[kind]
            )
        return got

    async def _drive(self, reading: Generator[memoryview, None, Read]) -> Read:
        """Fill what a reader asks for; each piece within the time-out."""
        try:
            view = next(reading)
            while True:
                if self.stream.held >= len(view):
                    await self.stream.fill(view)  # at once: no time-out has to be set
                else:
                    async with self._patience("was silent"):
                        await self.stream.fill(view)
                view = reading.send(None)
        except StopIteration as end:
            return end.value

    async def _last_words(self) -> None:
        """Read what came before the end: perhaps the peer said why."""
        with suppress(ProtocolError):
            while self.stream.held:
                got = await self._drive(frame.read_frame(self._read))
                self._read += 1
                await self.stream.fill(memoryview(bytearray(got.rest)))

    @asynccontextmanager
    async def _patience(self, what: str) -> AsyncGenerator[None]:
        try:
            async with asyncio.timeout(self.silence):
                yield
        except TimeoutError:
            raise LateError(
                f"the other party {what}",
                wanted=f"a sign of life in {self.silence:g} seconds",
                remedy="Look at its side of the run. Longer computations need a longer silence.",
            ) from None


async def _first(news: list[asyncio.Future[None]]) -> None:
    """Wait for any of them, and forget the others."""
    try:
        await asyncio.wait(news, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for future in news:
            future.cancel()
