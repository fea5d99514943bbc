"""What a budget buys: for each release its part of the budget, and how far noise moves a count."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from discreet.fit.mixture.scales import Scales
from discreet.report.paper import Purchase, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.accounting.event import Event
    from discreet.accounting.guarantee import Guarantee
    from discreet.models.moments import CovarianceType

__all__ = [
    "hmm_purchases",
    "hmm_sentence",
    "list_purchases",
    "network_purchases",
    "network_sentence",
    "purchases",
    "sentence_of",
]


def list_purchases(
    guarantee: Guarantee, errors: Sequence[float | None], sizes: Sequence[int | None]
) -> tuple[Purchase, ...]:
    """Every planned release. Parts are of mu squared (or rho), and of epsilon where all noise is Laplace."""
    events = guarantee.events
    pure = all(event.mechanism == "laplace" for event in events)
    costs = [event.count / event.noise ** (1 if pure else 2) for event in events]
    return tuple(
        Purchase(event.label, event.count, size, event.mechanism, event.noise, cost / sum(costs), error)
        for event, cost, error, size in zip(events, costs, errors, sizes, strict=True)
    )


def purchases(
    guarantee: Guarantee, method: str, covariance_type: CovarianceType, dimension: int
) -> tuple[Purchase, ...]:
    """The releases of a mixture; a round of the joint fit has a size, and its counts have an error."""
    errors = [
        _error(event, index, guarantee, method, covariance_type, dimension)
        for index, event in enumerate(guarantee.events)
    ]
    return list_purchases(guarantee, errors, [_components(event) for event in guarantee.events])


def hmm_purchases(guarantee: Guarantee) -> tuple[Purchase, ...]:
    """The releases of a hidden Markov model; only the census counts something that has a name."""
    errors = [_census_error(event, guarantee) for event in guarantee.events]
    return list_purchases(guarantee, errors, [None] * len(errors))


def hmm_sentence(guarantee: Guarantee, bought: tuple[Purchase, ...]) -> str:
    """What the noise means for whoever reads a hidden Markov model."""
    if not bought:
        return "No noise was drawn and nothing was paid: this result is exact, and not private."
    last, what = bought[-1], "people" if guarantee.unit == "person" else "sequences"
    moved = number(float(f"{last.noise * _spread(last.mechanism):.2g}"))
    return (
        f"In the last of {len(bought)} releases the noise is as large as what about {moved} {what} could "
        f"change together at the very most. What fewer {what} than that say cannot be told from noise."
    )


def network_purchases(guarantee: Guarantee) -> tuple[Purchase, ...]:
    """The one release of a network: every count carries the same noise."""
    errors = [_table_error(event, guarantee) for event in guarantee.events]
    return list_purchases(guarantee, errors, [None] * len(errors))


def network_sentence(guarantee: Guarantee, bought: tuple[Purchase, ...]) -> str:
    """What the noise means for whoever reads a network."""
    if not bought:
        return "No noise was drawn and nothing was paid: this result is exact, and not private."
    error = number(float(f"{bought[0].error or 0:.2g}"))
    return (
        f"Each count carries a standard error of about {error} rows. What a table says of a configuration "
        "with fewer than twice as many rows is mostly prior and noise."
    )


def sentence_of(guarantee: Guarantee, bought: tuple[Purchase, ...], method: str) -> str:
    """What the noise means for whoever reads the result."""
    if not bought:
        return "No noise was drawn and nothing was paid: this result is exact, and not private."
    if method == "input":
        return (
            f"Every row carries noise of its own, {number(bought[0].noise)} times as far as a row can "
            "move. Only what many rows say together survives."
        )
    last = next(purchase for purchase in reversed(bought) if purchase.error is not None)
    things = "people" if guarantee.unit == "person" else "rows"
    if guarantee.unit == "person" and guarantee.rows_per_person != 1:
        things = "rows"
    error = number(float(f"{last.error or 0:.2g}"))
    return (
        f"In the last round a count carries a standard error of about {error} {things}. "
        f"A component with fewer than twice as many may stand for nobody at all."
    )


def _components(event: Event) -> int | None:
    """How many components a round of the joint fit measures: its label says so, in any version."""
    found = re.search(r"moments of (\d+) component", event.label)
    return int(found.group(1)) if found else None


def _error(
    event: Event,
    index: int,
    guarantee: Guarantee,
    method: str,
    covariance_type: CovarianceType,
    dimension: int,
) -> float | None:
    """The standard error of a count, in rows (or people, if one person weighs one row)."""
    weight, spread = guarantee.rows_per_person or 1.0, _spread(event.mechanism)
    if method == "published":
        return event.noise * weight * spread if event.label == "weights" else None
    if method == "input":
        return None
    norm = "l1" if event.mechanism == "laplace" else "l2"
    limit = Scales.choose(dimension, covariance_type, norm, whole=index == 0).limit
    return event.noise * weight * spread * limit


def _census_error(event: Event, guarantee: Guarantee) -> float | None:
    """The standard error of the number of sequences, which the first release counts."""
    if event.label != "census":
        return None
    limit = math.sqrt(2) if event.mechanism == "gaussian" else 2.0  # `discreet.fit.hmm.measure.Census.limit`
    return event.noise * (guarantee.rows_per_person or 1.0) * _spread(event.mechanism) * limit


def _table_error(event: Event, guarantee: Guarantee) -> float | None:
    """The standard deviation of a count in rows: noise times the rows of one person, over all tables."""
    found = re.search(r"counts of (\d+) families", event.label)
    families = int(found.group(1)) if found else 1
    return event.noise * (guarantee.rows_per_person or 1.0) * math.sqrt(families)


def _spread(mechanism: str) -> float:
    """The standard deviation of noise of scale 1."""
    return math.sqrt(2) if mechanism == "laplace" else 1.0
