"""Matrix products by one thread each, while workers of our own use the processors.

A BLAS that starts threads of its own for every product makes the workers wait for each other: on two
processors, and the more so on busy ones, E-steps in ten columns took ten to a hundred times as long
(`benchmarks/threads.py`). It would also let the number of threads choose the order of float sums.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["single_blas"]


@contextmanager
def single_blas() -> Generator[None]:
    """Let BLAS use one thread for a while.

    Where the setting belongs to the process only the first thread that asks has a say; where it belongs to
    threads each must ask: so both the driver and its workers do.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
