"""What a fitting method is given: the records, the declarations, and how to look at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.models.moments import Pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from discreet.accounting.account import Account
    from discreet.domain import Region
    from discreet.fit.mixture.measure import GridFrame, Layout
    from discreet.models.moments import CovarianceType
    from discreet.randomness import Bits
    from discreet.records import Engine, Records

    Listen = Callable[[GridFrame, Layout, NDArray[np.float64]], None]

__all__ = ["Payment", "Task"]


@dataclass(frozen=True)
class Task:
    """A mixture wanted from records: everything in it was declared before a row was read."""

    records: Records
    region: Region
    components: int
    covariance_type: CovarianceType
    floor: float
    per_person: float = 1.0
    engine: Engine | None = None
    progress: Callable[[int, int], None] | None = None

    @property
    def pairs(self) -> Pairs:
        """The products of coordinates that are summed."""
        return Pairs.of(self.covariance_type, self.region.dimension)

    def report(self, done: int, rounds: int) -> None:
        """Tell how many of the planned rounds are done; both numbers are public."""
        if self.progress is not None:
            self.progress(done, rounds)


@dataclass(frozen=True)
class Payment:
    """Who pays for noise and where its randomness comes from."""

    account: Account
    bits: Bits
    listen: Listen | None = None
