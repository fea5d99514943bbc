"""A request for a hidden Markov model: checked before any sequence is read."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.accounting.guarantee import Guarantee
from discreet.errors import ParameterError, TooLargeError
from discreet.fit.hmm.schedule import METHODS, plan_releases
from discreet.fit.numbers import check_choice, check_delta, check_epsilon, check_number, check_whole
from discreet.models.moments import COVARIANCE_TYPES
from discreet.records.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from discreet.accounting.ledger import Ledger
    from discreet.randomness import Bits
    from discreet.records.engine import Engine

__all__ = ["Plan", "Request", "check", "plan"]

NOISES = ("gaussian", "laplace")
SCORED = 1200
"""The most free parameters for which the score is asked: its information matrix has as many rows."""

TOPOLOGIES = (None, "left-right")
MOST_ROUNDS = 100
"""Each round gets more than the one before: of more rounds than these the first would get nothing."""

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
    person: str | None
    ledger: Ledger | str | Path | None
    dataset: str | None
    bits: Bits
    n_symbols: int = 0
    covariance_type: Any = "diag"
    n_mix: int = 1
    min_covar: float = 1e-3
    radius: float | None = None
    bounds: tuple[ArrayLike, ArrayLike] | None = None
    center: ArrayLike = 0.0
    sequences_per_person: float = 1.0
    noise: str = "gaussian"
    n_rounds: int | None = None
    columns: Sequence[str] | None = None
    sequence: str | None = None
    order: str | None = None
    symbols: Sequence[str] | None = None
    engine: Engine | None = None

    @property
    def plain(self) -> bool:
        """Whether no privacy is wanted."""
        return math.isinf(self.epsilon)

    def roles(self, states: str | None = None) -> Roles:
        """What the columns of a table are for; refuses names that make no sense."""
        symbols = self.n_symbols if self.symbols is None else self.symbols
        columns: Any = self.columns
        return Roles(
            columns,
            self.sequence,
            self.order,
            self.person,
            states,
            symbols if self.family == "categorical" else None,
        )


@dataclass(frozen=True)
class Plan:
    """What will be released, at what price and by which method."""

    guarantee: Guarantee
    method: str


def check(wanted: Request) -> Request:
    """The request with numbers as numbers, or the first thing that is wrong with it."""
    check_whole("n_states", wanted.n_states, 1)
    check_whole("max_iter", wanted.max_iter, 1)
    for name, most in (("max_length", 2**40), ("n_rounds", MOST_ROUNDS)):
        if getattr(wanted, name) is not None:
            check_whole(name, getattr(wanted, name), 1, most)
    if wanted.family == "categorical":
        check_whole("n_symbols", wanted.n_symbols, 1)
    check_whole("n_mix", wanted.n_mix, 1)
    check_choice("method", wanted.method, ("auto", *METHODS))
    check_choice("noise", wanted.noise, NOISES)
    check_choice("topology", wanted.topology, TOPOLOGIES)
    check_choice("covariance_type", wanted.covariance_type, COVARIANCE_TYPES)
    check_number("tol", wanted.tol, low=0)
    check_number("min_covar", wanted.min_covar, low=1e-12)
    check_number("sequences_per_person", wanted.sequences_per_person, low=1e-6, high=1e9)
    if wanted.n_states * (wanted.n_states + wanted.n_symbols) > LARGEST:
        raise TooLargeError(
            "a model this large does not fit into memory",
            got=f"{wanted.n_states} states and {wanted.n_symbols} symbols",
            wanted=f"states * (states + symbols) <= {LARGEST}",
        )
    _check_names(wanted)
    if wanted.dataset is not None and wanted.ledger is None:
        raise ParameterError("dataset names a budget, but there is no ledger", remedy="Give ledger= as well.")
    epsilon = check_epsilon(wanted.epsilon)
    delta = check_delta(wanted.delta, epsilon, pure=wanted.noise == "laplace")
    return replace(wanted, epsilon=epsilon, delta=delta)


def plan(wanted: Request, *, labelled: bool = False, by_person: bool = False) -> Plan:
    """What a checked request will promise: nothing is read, drawn or spent.

    The method follows from the request alone: known paths are counted; symbols are fitted by their score
    while there are few enough parameters; all else by rounds of counts or moments.
    """
    method, large = _method(wanted, labelled)
    events = ()
    if not wanted.plain:
        _check_private(wanted, method)
        counted = large and method == "labelled" and wanted.family == "categorical"
        rounds = 1 if counted else wanted.n_rounds
        events = plan_releases(method, wanted.epsilon, wanted.delta or 0.0, wanted.noise, rounds)
    guarantee = Guarantee(
        epsilon=wanted.epsilon,
        delta=wanted.delta or 0.0,
        unit="person" if by_person else "sequence",
        events=events,
        trusts=_trusted(wanted),
        reveals=(_REVEALED[method] if events else "the exact model fitted to the sequences",),
        declared=_declared(wanted),
        seeded=wanted.bits.seeded and not wanted.plain,
        person=wanted.person if by_person and isinstance(wanted.person, str) else None,
        rows_per_person=wanted.sequences_per_person if by_person else None,
        piece="sequence",
    )
    return Plan(guarantee, method)


_REVEALED = {
    "score": "start, transition and emission probabilities, computed from noisy scores alone",
    "labelled": "start, transition and emission parameters, computed from noisy sums over known paths alone",
    "iterate": "start, transition and emission parameters, computed from noisy sums alone",
    "moments": "how often each short window of symbols occurs, with noise, and the model computed from that",
}


def _trusted(wanted: Request) -> str:
    curator = "whoever runs the fit, who sees the sequences"
    if wanted.plain or wanted.bits.seeded:
        knowing = "" if wanted.plain else " and may guess the seed"
        return f"{curator}; and everybody who sees the result{knowing}"
    return f"{curator}; nobody who only sees the result"


def _method(wanted: Request, labelled: bool) -> tuple[str, bool]:
    """The method, and whether there are too many parameters to ask for scores."""
    states, symbols = wanted.n_states, wanted.n_symbols
    points = wanted.family == "gaussian"
    large = points or states - 1 + states * (states - 1) + states * (symbols - 1) > SCORED
    method = wanted.method
    if method == "auto":
        method = "labelled" if labelled else "iterate" if large else "score"
    if method == "labelled" and not labelled:
        raise ParameterError("method='labelled' needs the hidden states", remedy="Give states= to fit.")
    if labelled and method != "labelled":
        raise ParameterError(
            "hidden states are given", got=f"method={method!r}", wanted="method='labelled' or 'auto'"
        )
    if points and method in ("score", "moments"):
        raise ParameterError(
            "this method is for symbols", got=f"method={method!r}", wanted="method='iterate' or 'auto'"
        )
    if method == "score" and large:
        raise TooLargeError(
            "there are too many parameters for their score",
            got=f"{states} states and {symbols} symbols",
            wanted=f"at most {SCORED} free parameters",
            remedy="Use method='iterate' or 'auto'.",
        )
    return method, large


def _check_names(wanted: Request) -> None:
    if not isinstance(wanted.person, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(
            "person is not a column name",
            got=type(wanted.person).__name__,
            wanted="the name of a column",
            remedy="Give ids to fit(X, person=ids): parameters are published.",
        )
    wanted.roles()
    if wanted.symbols is not None and len(wanted.symbols) != wanted.n_symbols:
        raise ParameterError(
            "n_symbols is not how many symbols are named",
            got=f"{wanted.n_symbols}, and {len(wanted.symbols)} names",
            wanted="the same",
        )


def _check_private(wanted: Request, method: str) -> None:
    if wanted.max_length is None:
        raise ParameterError(
            "max_length is not declared",
            wanted="the longest length that counts, a public number",
            remedy="Longer sequences are cut to it. It must not be looked up in the data.",
        )
    if wanted.n_mix > 1:
        raise ParameterError(
            "private models have one Gaussian a state",
            got=f"n_mix={wanted.n_mix}",
            wanted="n_mix=1",
            remedy="Use more states.",
        )
    if method == "moments":
        _check_windows(wanted)
    if wanted.family == "gaussian" and wanted.bounds is None and wanted.radius is None:
        raise ParameterError(
            "no region is declared",
            wanted="bounds=(low, high) or radius=",
            remedy="Say where points can lie.",
        )


def _check_windows(wanted: Request) -> None:
    from discreet.fit.hmm.windows import window_length

    window_length(wanted.n_symbols, wanted.max_length or 1)
    if wanted.n_rounds not in (None, 1):
        raise ParameterError(
            "windows are counted once", got=f"n_rounds={wanted.n_rounds}", wanted="n_rounds=None or 1"
        )


def _declared(wanted: Request) -> tuple[str, ...]:
    facts = [f"the number of states, {wanted.n_states}"]
    if wanted.family == "categorical":
        facts.append(f"the number of symbols, {wanted.n_symbols}")
        facts += ["the names of the symbols"] * (wanted.symbols is not None)
    if (wanted.columns, wanted.sequence, wanted.order, wanted.person) != (None,) * 4:
        facts.append("the names of the columns")
    if wanted.max_length is not None:
        facts.append(f"the longest length, {wanted.max_length}")
    if wanted.radius is not None:
        facts.append(f"the region of the points (radius {wanted.radius:g})")
    elif wanted.bounds is not None:
        facts.append("the region of the points (low and high of every column)")
    if wanted.skeleton is not None:
        facts.append("the skeleton")
    if wanted.topology is not None:
        facts.append(f"the topology, {wanted.topology}")
    if wanted.sequences_per_person != 1.0:
        facts.append(f"the weight of one person's sequences, at most {wanted.sequences_per_person:g}")
    return tuple(facts)
