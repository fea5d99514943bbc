"""An event loop whose time passes only when everybody waits: time-outs are exact and take no time."""

import asyncio
from collections.abc import Coroutine
from typing import Any

__all__ = ["play"]


class _Clock(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._now = 0.0
        super().__init__()

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self._now = max(self._now, self._scheduled[0]._when)
        super()._run_once()


def play(work: Coroutine[Any, Any, Any]) -> Any:
    """Run something that waits for nothing outside this process."""
    with asyncio.Runner(loop_factory=_Clock) as runner:
        return runner.run(work)
