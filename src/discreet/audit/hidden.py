"""Does a fitted hidden Markov model reveal no more than it says? Fit invented sequences and find out.

As for mixtures (`discreet.audit.mixture`): two worlds differ in one canary, a sequence or all sequences of a
person; the real fit runs many times in each; every question that it asked (`fit.hmm.measure.Question`) is put
again to both worlds without noise, so the likelihood ratio of the whole transcript is known exactly; and the
ratios become a lower bound on epsilon. The canary says the same rare thing all the time, so that its answer
is cut to the bound in every round.

Bugs that can be planted, each under the claim of the honest fit:

    short noise            noise made for one release, drawn in every round: short by sqrt(rounds)
    no clipping            a bound is chosen and claimed, and answers are as large as they like
    sequences for persons  a person's sequences weigh 1 each, however many there are
    free census            the lengths are counted with noise that nobody charges
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.audit.finding import FitFinding, conclude
from discreet.audit.transcript import Attack, Bystander, Score, compare, score
from discreet.errors import ParameterError
from discreet.fit.hmm.data import Sequences
from discreet.fit.hmm.measure import measure
from discreet.fit.hmm.private import fit_private
from discreet.fit.hmm.request import Request, check
from discreet.fit.hmm.run import prepare
from discreet.fit.hmm.task import Payment
from discreet.models.sequences import pack_sequences
from discreet.randomness import generator, secure, seeded
from discreet.records.engine import LocalEngine
from discreet.records.sequences import Sequences as Held

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.accounting.account import Account
    from discreet.accounting.event import Event
    from discreet.accounting.guarantee import Guarantee
    from discreet.fit.hmm.measure import Question
    from discreet.fit.hmm.private import Ready
    from discreet.randomness import Bits
    from discreet.records.engine import Engine
    from discreet.records.sequences import SequenceChunk, SequenceFunction

__all__ = [
    "BROKEN",
    "BUGS",
    "HONEST",
    "Hidden",
    "Worlds",
    "audit_hidden",
    "hidden_request",
    "invent_sequences",
]

BUGS = ("short noise", "no clipping", "sequences for persons", "free census")

LONGEST = 8
"""The declared longest length of invented sequences."""

FREE_NOISE = 0.2
"""What nobody charges in a free census, in bounds."""

HONEST: dict[str, dict[str, Any]] = {
    "score, Gaussian, sequence": {"method": "score"},
    "score, Laplace, sequence": {"method": "score", "noise": "laplace"},
    "score, Gaussian, person": {"method": "score", "unit": "person"},
    "iterate, Gaussian, sequence": {"method": "iterate"},
    "iterate, Laplace, person": {"method": "iterate", "noise": "laplace", "unit": "person"},
    "moments, Gaussian, sequence": {"method": "moments"},
    "moments, Laplace, sequence": {"method": "moments", "noise": "laplace"},
    "labelled, Gaussian, sequence": {"method": "labelled"},
    "labelled, Laplace, person": {"method": "labelled", "noise": "laplace", "unit": "person"},
    "points, Gaussian, sequence": {"family": "gaussian", "method": "iterate"},
    "points, Laplace, person": {"family": "gaussian", "noise": "laplace", "unit": "person"},
    "points, labelled, Gaussian, sequence": {"family": "gaussian", "method": "labelled"},
}
"""The methods of `fit`, as arguments of `audit_hidden`."""

BROKEN: dict[str, dict[str, Any]] = {
    "score, short noise": {"method": "score", "bug": "short noise", "n_rounds": 6},
    "iterate, short noise": {"method": "iterate", "bug": "short noise", "n_rounds": 6},
    "score, no clipping": {"method": "score", "bug": "no clipping"},
    "moments, no clipping": {"method": "moments", "bug": "no clipping"},
    "points, no clipping": {"family": "gaussian", "bug": "no clipping"},
    "iterate, sequences for persons": {"method": "iterate", "bug": "sequences for persons"},
    "points, sequences for persons": {"family": "gaussian", "bug": "sequences for persons"},
    "labelled, free census": {"method": "labelled", "bug": "free census"},
}
"""The same fits with bugs."""


@dataclass(frozen=True)
class Worlds:
    """The same private fit, ready in world 0 without the canary and in world 1 with it."""

    ready: tuple[Ready, Ready]

    @staticmethod
    def of(
        wanted: Request,
        without: Sequences,
        canary: Sequences,
        ids: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    ) -> Worlds:
        """Plan the request; ``ids`` name the person of each sequence without and with the canary."""
        if wanted.plain:
            raise ParameterError("there is no claim to audit", wanted="a finite epsilon")
        wanted = replace(wanted, engine=LocalEngine(1))
        pair = (without, _join(without, canary))
        first, second = (
            prepare(wanted, data, person=None if ids is None else ids[world])
            for world, data in enumerate(pair)
        )
        return Worlds((first, replace(second, start=first.start)))

    @property
    def guarantee(self) -> Guarantee:
        """What is claimed."""
        return self.ready[0].planned.guarantee


class Hidden:
    """The fit under attack; ``bug`` says what is planted in it."""

    def __init__(self, worlds: Worlds, bug: str | None = None) -> None:
        if bug is not None and bug not in BUGS:
            raise ParameterError("there is no such bug", got=bug, wanted=" or ".join(BUGS))
        self.ready = tuple(_plant(bug, ready) for ready in worlds.ready)
        gaussian = worlds.guarantee.events[0].mechanism == "gaussian"
        self.attack: Attack = "gaussian" if gaussian else "counting"

    def play(self, world: int, bits: Bits) -> Score:
        """Fit, and score every release of the transcript."""
        told: list[tuple[Question, NDArray[np.float64]]] = []
        account = _Planned(self.ready[world].planned.guarantee)
        payment = Payment(cast("Account", account), bits, lambda asked, noisy: told.append((asked, noisy)))
        fit_private(self.ready[world], payment)
        events = self.ready[world].planned.guarantee.events
        return score([self._round(*one, event) for one, event in zip(told, events, strict=False)])

    def _round(self, question: Question, noisy: NDArray[np.float64], event: Event) -> Score:
        without, joined = (
            measure(one.task.sequences, question, one.task.per_person, event.label, one.task.engine)
            for one in self.ready
        )
        return compare(noisy, without, joined, event)


def audit_hidden(
    method: str = "auto",
    *,
    family: str = "categorical",
    epsilon: float = 2.0,
    delta: float = 1e-5,
    noise: str = "gaussian",
    n_rounds: int | None = None,
    unit: str = "sequence",
    sequences: int = 60,
    bug: str | None = None,
    runs: int = 300,
    confidence: float = 0.95,
    random_state: int | None = 0,
    progress: Callable[[int, int], None] | None = None,
    **more: Any,
) -> FitFinding:
    """Audit a fit of invented sequences, with ``runs`` runs in each of two worlds.

    ``unit`` is "sequence" or "person"; ``more`` are other fields of the request. ``random_state=None`` audits
    noise as it is really drawn, by OpenDP; an integer replays.

    **Reveals** nothing: the sequences are invented. **Trusts** nothing.
    """
    if unit not in ("sequence", "person"):
        raise ParameterError("no such unit", got=unit, wanted="sequence or person")
    if runs < 6:
        raise ParameterError("too few runs to prove anything", got=runs, wanted="at least 6, better 100")
    person = unit == "person" or bug == "sequences for persons"
    wanted = hidden_request(
        family=family,
        method=method,
        epsilon=epsilon,
        delta=0.0 if noise == "laplace" else delta,
        noise=noise,
        n_rounds=1 if method == "moments" else n_rounds or 2,
        sequences_per_person=1.5 if unit == "person" else 1.0,
        bits=secure() if random_state is None else seeded(0),
        **more,
    )
    worlds = Worlds.of(wanted, *invent_sequences(wanted, sequences, person=person))
    subject = Hidden(worlds, bug)
    scores: tuple[list[Score], list[Score]] = ([], [])
    for index in range(runs):
        for world in (0, 1):
            bits = secure() if random_state is None else seeded(random_state * 10_000_019 + 2 * index + world)
            scores[world].append(subject.play(world, bits))
        if progress is not None:
            progress(index + 1, runs)
    described = (
        f"fit hmm, {family} emissions, method {worlds.ready[0].planned.method}, {noise} noise, "
        f"{sequences} sequences, one {'person' if person else 'sequence'} added or removed"
    )
    return conclude(subject.attack, scores, worlds.guarantee, confidence, subject=described, bug=bug)


def hidden_request(**values: Any) -> Request:
    """A checked request for two states and three symbols, or points in [-1, 1]^2, with these changes."""
    usual: dict[str, Any] = {
        "family": "categorical",
        "n_states": 2,
        "n_symbols": 3,
        "epsilon": 1.0,
        "delta": 1e-5,
        "max_length": LONGEST,
        "method": "auto",
        "skeleton": None,
        "topology": None,
        "fixed": None,
        "max_iter": 1,
        "tol": 0.0,
        "person": None,
        "ledger": None,
        "dataset": None,
        "bits": seeded(0),
        "n_rounds": None,
    }
    if values.get("family") == "gaussian":
        usual |= {"n_symbols": 0, "bounds": (-1.0, 1.0), "covariance_type": "full"}
    return check(Request(**{**usual, **values}))


def invent_sequences(
    wanted: Request, count: int, *, person: bool = False, seed: int = 1
) -> tuple[Sequences, Sequences, tuple[NDArray[np.int64], NDArray[np.int64]] | None]:
    """Sequences of two modest states, a canary that says one rare thing all the time, and who owns what.

    With ``person`` everybody owns two sequences, and the canary's person four. Labels are given for the
    method "labelled".
    """
    draw, mine = generator(seeded(seed)), 4 if person else 1
    lengths = draw.integers(LONGEST // 2, LONGEST + 1, count).astype(np.intp)
    path = draw.integers(0, wanted.n_states, int(lengths.sum())).astype(np.intp)
    if wanted.family == "categorical":
        rows = draw.integers(0, wanted.n_symbols - 1, len(path))[:, None]
        rare = np.full((mine * LONGEST, 1), wanted.n_symbols - 1)
    else:
        rows = 0.05 * draw.standard_normal((len(path), 2)) + np.where(path == 0, -0.2, 0.2)[:, None]
        rare = np.ones((mine * LONGEST, 2))
    labelled = wanted.method == "labelled"
    without = Sequences(rows, lengths, path if labelled else None)
    constant = np.full(len(rare), wanted.n_states - 1, dtype=np.intp)
    canary = Sequences(rare, np.full(mine, LONGEST, dtype=np.intp), constant if labelled else None)
    ids = np.arange(count) // 2
    owners = (ids, np.concatenate([ids, np.full(mine, count)])) if person else None
    return without, canary, owners


@dataclass(frozen=True)
class _Planned(Bystander):
    """Nobody is charged, but the plan is known."""

    guarantee: Guarantee


def _join(first: Sequences, second: Sequences) -> Sequences:
    labels = None
    if first.labels is not None and second.labels is not None:
        labels = np.concatenate([first.labels, second.labels])
    return Sequences(
        np.concatenate([first.rows, second.rows]), np.concatenate([first.lengths, second.lengths]), labels
    )


def _plant(bug: str | None, ready: Ready) -> Ready:
    """The same fit with this bug in it."""
    task, events = ready.task, ready.planned.guarantee.events
    if bug == "short noise":
        return _with_events(ready, [event.scaled(1 / math.sqrt(len(events))) for event in events])
    if bug == "free census":
        return _with_events(ready, [replace(events[0], noise=FREE_NOISE), *events[1:]])
    if bug == "no clipping":
        return replace(ready, task=replace(task, sequences=_Unbounded(task.sequences)))
    if bug == "sequences for persons":
        return replace(ready, task=replace(task, sequences=_Unweighted(task.sequences)))
    return ready


def _with_events(ready: Ready, events: list[Event]) -> Ready:
    """Other releases than those that were planned; what they would cost is not looked at."""
    guarantee = replace(ready.planned.guarantee, events=tuple(events))
    return replace(ready, planned=replace(ready.planned, guarantee=guarantee))


class _Unbounded(Held):
    """Sequences whose answers are summed as they are, on the grid of the bound."""

    def __init__(self, held: Held) -> None:
        super().__init__(held.parts, held.labelled)

    def map_reduce(
        self, function: SequenceFunction, broadcast: Any, engine: Engine | None = None
    ) -> dict[str, NDArray[Any]]:
        """The unbounded sums, whatever the function."""
        return super().map_reduce(_sum_unbounded, broadcast, engine)


class _Unweighted(Held):
    """Sequences that weigh 1 each."""

    def __init__(self, held: Held) -> None:
        parts = tuple(replace(part, weights=np.ones_like(part.weights)) for part in held.parts)
        super().__init__(parts, held.labelled)


def _sum_unbounded(chunk: SequenceChunk, question: Question) -> dict[str, NDArray[np.int64]]:
    [pack] = pack_sequences(chunk.lengths)
    answers = question.answers(chunk.rows, pack, chunk.states) * (chunk.weights * 2.0**30 / question.limit)
    return {"sums": np.trunc(answers).astype(np.int64).sum(axis=1)}
