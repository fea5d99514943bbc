"""What a private fitting method of hidden Markov models is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from discreet.accounting.account import Account
    from discreet.fit.hmm.measure import Question
    from discreet.randomness import Bits
    from discreet.records.engine import Engine
    from discreet.records.sequences import Sequences

    Listen = Callable[[Question, NDArray[np.float64]], None]

__all__ = ["Payment", "Task"]


@dataclass(frozen=True)
class Task:
    """Sequences and what was declared about them before one was read."""

    sequences: Sequences
    max_length: int
    dimension: int = 1
    per_person: float = 1.0
    engine: Engine | None = None
    progress: Callable[[int, int], None] | None = None

    def report(self, done: int, rounds: int) -> None:
        """Tell how many of the planned rounds are done; both numbers are public."""
        if self.progress is not None:
            self.progress(done, rounds)


@dataclass(frozen=True)
class Payment:
    """Who pays for noise, where its randomness comes from, and who is told every released vector."""

    account: Account
    bits: Bits
    listen: Listen | None = None
