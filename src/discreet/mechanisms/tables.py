"""Noise for tables of counts: one discrete Gaussian, one sigma, every cell of every family.

One law for a curator (`discreet.fit`) and for parties who draw the noise together: the
noise is an integer, so that both release exactly the same distribution.

**One person.** A person with at most r rows changes every family's table by whole numbers that sum to r at
most, so by an L2 length of at most r; all F tables together by r sqrt(F).

**What integers cost.** Take one cell and a change by one: X against X + 1, X a discrete Gaussian of scale
sigma. Neighbours are told apart best by thresholds, and for every threshold j
    Phi^-1 P[X <= j] - Phi^-1 P[X <= j - 1]  <=  (1 / sigma) (1 + 1 / (24 sigma^2) + ...),
the error of the midpoint rule, largest in the middle. So the corners of the discrete trade-off curve lie
above the curve of a continuous Gaussian with mu = 1 / sigma times that factor; between its corners the curve
is a chord of a convex set. A change by k is k such steps, so it costs k times as much at most; and many cells
cost the root of the sum of squares, because products of trade-off functions keep their order (Dong, Roth and
Su 2022). We charge for
    mu = r sqrt(F) / sigma * (1 + 1 / (16 sigma^2)),        sigma >= 3/4,
half as much again as the expansion needs. `tests/mechanisms/test_noisy_tables.py` computes the corners for
many sigmas, thirty deviations out (beyond lies a mass of 1e-190). At sigma 12 the price is four parts in ten
thousand, where one unit a cell more (`discreet.mechanisms.noise`) would double what a person can change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.accounting.accountant import MARGIN, check_budget
from discreet.accounting.event import Event
from discreet.accounting.gaussian import gaussian_mu
from discreet.accounting.guarantee import Guarantee
from discreet.errors import ParameterError
from discreet.mechanisms.noise import NoisePlan, draw_noise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.mechanisms.noise import Payer
    from discreet.randomness import Bits

__all__ = ["SMALLEST_SIGMA", "TableLaw", "law", "release_tables"]

SMALLEST_SIGMA = 0.75
"""Less noise is not drawn, even if the budget would allow it; then less is charged."""

_GRID = 2**8  # sigma is a multiple of 1 / 256
_LARGEST_SIGMA = 2.0**40


@dataclass(frozen=True)
class TableLaw:
    """How much noise each cell gets, and what it costs.

    ``sigma`` is a multiple of 1/256, so that every party has the same fraction; ``event`` is the release of
    all tables together; ``epsilon`` and ``delta`` are what was asked for.
    """

    families: int
    rows_per_person: int
    epsilon: float
    delta: float
    sigma: float
    event: Event

    @property
    def scale(self) -> Fraction:
        """Sigma as a fraction, exactly."""
        return Fraction(self.sigma)

    @property
    def bound(self) -> float:
        """The L2 length of what one person changes in all tables together."""
        return self.rows_per_person * math.sqrt(self.families)

    def guarantee(
        self,
        *,
        trusts: str,
        reveals: Sequence[str],
        declared: Sequence[str],
        person: str | None = None,
        by_person: bool = False,
        seeded: bool = False,
    ) -> Guarantee:
        """The promise of a run that releases these tables once, for adding or removing one row or person."""
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            unit="person" if by_person else "row",
            events=(self.event,),
            trusts=trusts,
            reveals=tuple(reveals),
            declared=tuple(declared),
            seeded=seeded,
            person=person,
            rows_per_person=float(self.rows_per_person) if by_person else None,
        )


def law(families: int, epsilon: float, delta: float, *, rows_per_person: int = 1) -> TableLaw:
    """The least noise for so many tables at this budget; a pure function of its arguments.

    **Costs** nothing by itself: the event says what drawing the noise will cost.
    """
    size, chance = check_budget(epsilon, delta)
    for name, value in (("families", families), ("rows_per_person", rows_per_person)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"{name} is not a number of things", got=value, wanted="a whole number >= 1")
    if math.isinf(size) or chance == 0:
        raise ParameterError(
            "Gaussian noise needs a finite epsilon and a delta above 0", got=(size, chance), wanted="both"
        )
    bound = rows_per_person * math.sqrt(families)
    mu = gaussian_mu(size, chance * (1 - MARGIN))
    sigma = max(SMALLEST_SIGMA, math.ceil(bound / mu * _GRID) / _GRID)
    while _charged(sigma, bound) > mu:  # a few steps: the price of integers
        sigma += 1 / _GRID
    if sigma > _LARGEST_SIGMA:
        raise ParameterError(
            "the noise would be too large", got=(size, chance), wanted="a larger epsilon, or fewer tables"
        )
    noise = math.nextafter(1 / _charged(sigma, bound), 0)
    event = Event("gaussian", noise, 1, f"counts of {families} families")
    return TableLaw(families, rows_per_person, size, chance, sigma, event)


def release_tables(
    tables: Mapping[str, NDArray[np.int64]], wanted: TableLaw, account: Payer, bits: Bits
) -> dict[str, NDArray[np.int64]]:
    """The counts with exact noise added to every cell, also to those that nobody can be in.

    **Reveals** the counts, as far as the law's event allows. **Costs** that event, asked of ``account``
    before noise is drawn. **Trusts** that nobody changes the tables by more than the law says.
    """
    if len(tables) != wanted.families:
        raise ParameterError(
            "there are more or fewer tables than the law is for", got=len(tables), wanted=f"{wanted.families}"
        )
    size = sum(table.size for table in tables.values())
    plan = NoisePlan("gaussian", 0, 1.0, wanted.bound, wanted.sigma)
    noise = draw_noise(plan, size, wanted.event, account, bits)
    noisy: dict[str, NDArray[np.int64]] = {}
    start = 0
    for name, table in tables.items():
        drawn = noise[start : start + table.size].reshape(table.shape)
        noisy[name] = np.asarray(table, dtype=np.int64) + drawn
        start += table.size
    return noisy


def _charged(sigma: float, bound: float) -> float:
    """The mu that the discrete noise is charged with: that of continuous noise, and the price of integers."""
    return bound / sigma * (1 + 1 / (16 * sigma * sigma))
