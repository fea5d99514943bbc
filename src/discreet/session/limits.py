"""What a service gives at most."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass

from discreet.errors import ParameterError

__all__ = ["Limits", "Rate"]

_WINDOW = 60.0


@dataclass(frozen=True)
class Limits:
    """What a service gives at most; times in seconds, memory in bytes.

    ``workers``: sessions at once, by default one for each processor; ``share``: of one client at once, by
    default all but one, so that one client that stalls does not stop the others. ``waiting``: clients who
    wait for a worker, each ``patience`` long. ``connections``: open at once in all, ``each`` of one client.
    ``rate``: requests of one client in a minute. ``silence``: for each message of a client; ``talk``: from
    its connection to its question; ``whole``: for a session. ``memory``: of one session in its worker.
    ``queued``: bytes waiting for a client that talks and does not read.
    """

    workers: int = 0
    share: int = 0
    waiting: int = 16
    patience: float = 30.0
    connections: int = 64
    each: int = 8
    rate: int = 120
    silence: float = 20.0
    talk: float = 40.0
    whole: float = 300.0
    memory: int = 1 << 31
    queued: int = 1 << 26

    def __post_init__(self) -> None:
        if self.workers == 0:
            object.__setattr__(self, "workers", os.cpu_count() or 1)
        if self.share == 0:
            object.__setattr__(self, "share", max(1, self.workers - 1))
        wrong = [name for name, value in vars(self).items() if not value > 0 and name != "waiting"]
        if wrong or self.waiting < 0:
            raise ParameterError("a limit must be positive", got=wrong or self.waiting, wanted="> 0")


class Rate:
    """How often somebody came in the last minute; it remembers no more than it needs."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._times: dict[str, deque[float]] = {}

    def allows(self, who: str, now: float) -> bool:
        """Whether one more is allowed now; if so it counts."""
        times = self._times.setdefault(who, deque())
        while times and times[0] <= now - _WINDOW:
            times.popleft()
        if len(times) >= self._most:
            return False
        times.append(now)
        return True
