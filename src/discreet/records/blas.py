"""Matrix products by one thread each, while workers of our own use the processors.

A BLAS that starts threads of its own for every product makes the workers wait for each other: on two
processors, and the more so on busy ones, E-steps in ten columns took up to fifty times as long
(`benchmarks/crowding.py`). It would also let the number of threads choose the order of float sums.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["single_blas"]


class _Holders:
    """How many are inside `single_blas`: the setting belongs to the process, so the last one restores it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            if not self._count:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._count += 1

    def leave(self) -> None:
        with self._lock:
            self._count -= 1
            if not self._count:
                self._limit.restore_original_limits()


_holders = _Holders()


@contextmanager
def single_blas() -> Generator[None]:
    """Let BLAS use one thread in this process, until everybody who asked for it is done."""
    _holders.enter()
    try:
        yield
    finally:
        _holders.leave()


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
