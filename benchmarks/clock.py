"""Taking the time of several contenders, turn by turn, so that all meet the same machine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["race"]


def race(
    contenders: Mapping[str, Callable[[], object]], rounds: int, *, wall: bool = False
) -> dict[str, float]:
    """The best time of each contender over some rounds, in seconds.

    Work of one thread is timed by the processor time it took, which others on the machine disturb least;
    ``wall`` time is for work of several threads, or that waits for a disk.
    """
    clock = time.perf_counter if wall else time.process_time
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, work in contenders.items():
            start = clock()
            work()
            best[name] = min(best[name], clock() - start)
    return best
