"""Matrix products by one thread each, while workers of our own use the processors.

A BLAS that starts threads of its own for every product makes the workers wait for each other: on two
processors, and the more so on busy ones, E-steps in ten columns took ten to a hundred times as long
(`benchmarks/threads.py`). It would also let the number of threads choose the order of float sums.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["single_blas"]


@contextmanager
def single_blas() -> Generator[None]:
    """Let BLAS use one thread for a while.

    Where the setting belongs to threads each must ask: so both the driver and its workers do. Where it
    belongs to the process, several fits may share it: so only the last to leave gives the threads back.
    """
    _asked.enter()
    try:
        yield
    finally:
        _asked.leave()


class _Asked:
    """How many are asking, and what was there before the first of them."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._count = 0
        self._before: Any = None

    def enter(self) -> None:
        with self._turn:
            limit = _controller().limit(limits=1, user_api="blas")
            if not self._count:
                self._before = limit
            self._count += 1

    def leave(self) -> None:
        with self._turn:
            self._count -= 1
            if not self._count:
                self._before.restore_original_limits()
                self._before = None


_asked = _Asked()


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
