"""A request for a hidden Markov model: checked before any sequence is read."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.accounting.guarantee import Guarantee
from discreet.errors import ParameterError, TooLargeError
from discreet.models.moments import COVARIANCE_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import ArrayLike

    from discreet.accounting.ledger import Ledger
    from discreet.randomness import Bits

__all__ = ["Request", "check", "plan"]

METHODS = ("auto",)
TOPOLOGIES = (None, "left-right")
LARGEST = 2**25
"""The most numbers of a model: some 256 MiB."""


@dataclass(frozen=True)
class Request:
    """Everything a caller can say about a fit; see `CategoricalHMM` and `GaussianHMM`."""

    family: str
    n_states: int
    epsilon: float
    delta: float | None
    max_length: int | None
    method: str
    skeleton: Mapping[str, Any] | str | Path | None
    topology: Any
    fixed: Mapping[str, Any] | None
    max_iter: int
    tol: float
    person: Any
    ledger: Ledger | str | Path | None
    dataset: str | None
    bits: Bits
    n_symbols: int = 0
    covariance_type: Any = "diag"
    n_mix: int = 1
    min_covar: float = 1e-3
    radius: float | None = None
    bounds: tuple[ArrayLike, ArrayLike] | None = None

    @property
    def plain(self) -> bool:
        """Whether no privacy is wanted."""
        return math.isinf(self.epsilon)


def check(wanted: Request) -> Request:
    """The request with numbers as numbers, or the first thing that is wrong with it."""
    _whole("n_states", wanted.n_states, 1)
    _whole("max_iter", wanted.max_iter, 1)
    if wanted.max_length is not None:
        _whole("max_length", wanted.max_length, 1)
    if wanted.family == "categorical":
        _whole("n_symbols", wanted.n_symbols, 1)
    _whole("n_mix", wanted.n_mix, 1)
    _choice("method", wanted.method, METHODS)
    _choice("topology", wanted.topology, TOPOLOGIES)
    _choice("covariance_type", wanted.covariance_type, COVARIANCE_TYPES)
    _number("tol", wanted.tol, low=0)
    _number("min_covar", wanted.min_covar, low=1e-12)
    if wanted.n_states * (wanted.n_states + wanted.n_symbols) > LARGEST:
        raise TooLargeError(
            "a model this large does not fit into memory",
            got=f"{wanted.n_states} states and {wanted.n_symbols} symbols",
            wanted=f"states * (states + symbols) <= {LARGEST}",
        )
    if wanted.dataset is not None and wanted.ledger is None:
        raise ParameterError("dataset names a budget, but there is no ledger", remedy="Give ledger= as well.")
    return replace(wanted, epsilon=_epsilon(wanted.epsilon), delta=_delta(wanted))


def plan(wanted: Request) -> Guarantee:
    """What a checked request will promise: nothing is read, drawn or spent."""
    if not wanted.plain:
        raise ParameterError(
            "private hidden Markov models are not here yet",
            got=f"epsilon {wanted.epsilon:g}",
            wanted='epsilon=float("inf")',
        )
    return Guarantee(
        epsilon=wanted.epsilon,
        delta=wanted.delta or 0.0,
        unit="person",
        events=(),
        trusts="whoever runs the fit, who sees the sequences; nobody who only sees the result",
        reveals=("the exact model fitted to the sequences",),
        declared=_declared(wanted),
        seeded=False,
    )


def _declared(wanted: Request) -> tuple[str, ...]:
    facts = [f"the number of states, {wanted.n_states}"]
    if wanted.family == "categorical":
        facts.append(f"the number of symbols, {wanted.n_symbols}")
    if wanted.max_length is not None:
        facts.append(f"the longest length, {wanted.max_length}")
    if wanted.skeleton is not None:
        facts.append("the skeleton")
    if wanted.topology is not None:
        facts.append(f"the topology, {wanted.topology}")
    return tuple(facts)


def _epsilon(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not float(value) >= 1e-6:
        raise ParameterError(
            "epsilon is not a privacy budget",
            got=value,
            wanted="a number above 0 (at least a millionth)",
            remedy="Around 1 is usual; float('inf') fits without privacy.",
        )
    return float(value)


def _delta(wanted: Request) -> float | None:
    value = wanted.delta
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= value < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError("delta is not a probability below 1", got=value, wanted="0 <= delta < 1")
    return float(value)


def _whole(name: str, value: object, low: int) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < low:
        raise ParameterError(f"{name} is not a whole number", got=value, wanted=f"at least {low}")


def _number(name: str, value: object, *, low: float, high: float = 1e300) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not low <= float(value) <= high:
        raise ParameterError(
            f"{name} is out of range", got=value, wanted=f"a number from {low:g} to {high:g}"
        )


def _choice(name: str, value: object, among: tuple[Any, ...]) -> None:
    if value not in among:
        raise ParameterError(f"there is no such {name}", got=value, wanted=" or ".join(map(repr, among)))
