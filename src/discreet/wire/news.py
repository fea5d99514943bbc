"""News of a stream: something to wait for that no change can slip past."""

from __future__ import annotations

import asyncio

__all__ = ["News"]


class News:
    """Tells all who wait that something has changed."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    def wait(self) -> asyncio.Future[None]:
        """A future that is done at the next change after this call."""
        self._waiting = [future for future in self._waiting if not future.done()]
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    def ring(self) -> None:
        """Something has changed."""
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
