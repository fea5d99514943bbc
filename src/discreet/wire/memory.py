"""Streams in memory, for tests and for parties in one process: the same frames and checks, no secrecy."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from discreet.errors import PeerError
from discreet.wire.news import News

if TYPE_CHECKING:
    import asyncio

__all__ = ["MemoryStream", "pipe"]

_ROOM = 1 << 20
"""What lies between two ends before the writer has to wait, as in the buffers of a socket."""


class MemoryStream:
    """One end of a pipe in memory."""

    def __init__(self, incoming: _Pieces, outgoing: _Pieces) -> None:
        self.fingerprint = ""
        self._incoming = incoming
        self._outgoing = outgoing

    @property
    def held(self) -> int:
        """Bytes that have come in and that nobody has read."""
        return self._incoming.held

    @property
    def queued(self) -> int:
        """Bytes that the other end has not read, if they are too many."""
        return self._outgoing.held if self._outgoing.held > _ROOM else 0

    @property
    def ended(self) -> bool:
        """Whether nothing more will come or go."""
        return self._outgoing.ended

    def write(self, data: bytes) -> None:
        """Lay bytes before the other end."""
        self._outgoing.put(data)

    async def fill(self, view: memoryview) -> None:
        """Read exactly as many bytes as the memory holds, or raise `PeerError`."""
        while len(view):
            while not self.held:
                if self._incoming.ended:
                    raise PeerError("the other party went away")
                await self._incoming.news.wait()
            view = view[self._incoming.move(view) :]
        self._outgoing.news.ring()  # there is room at this end

    def news(self) -> asyncio.Future[None]:
        """Done when something changes from now on."""
        return self._incoming.news.wait()

    async def close(self) -> None:
        """End; what was written can still be read."""
        self.cut()

    def cut(self) -> None:
        """End at once."""
        for pieces in (self._incoming, self._outgoing):
            pieces.ended = True
            pieces.news.ring()


class _Pieces:
    """What lies between a writer and a reader."""

    def __init__(self) -> None:
        self.held = 0
        self.ended = False
        self.news = News()
        self._pieces: deque[memoryview] = deque()

    def put(self, data: bytes) -> None:
        if data and not self.ended:
            self._pieces.append(memoryview(data))
            self.held += len(data)
            self.news.ring()

    def move(self, view: memoryview) -> int:
        """Move bytes from the first piece; how many."""
        piece = self._pieces.popleft()
        count = min(len(piece), len(view))
        view[:count] = piece[:count]
        self.held -= count
        if count < len(piece):
            self._pieces.appendleft(piece[count:])
        return count


def pipe() -> tuple[MemoryStream, MemoryStream]:
    """Two connected ends."""
    there, back = _Pieces(), _Pieces()
    return MemoryStream(back, there), MemoryStream(there, back)
