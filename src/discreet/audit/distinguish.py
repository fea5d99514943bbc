"""Can an attacker tell from the released numbers whether one person was in the data? Run it and count.

`distinguish` runs any mechanism many times in two neighbouring worlds, scores every output, and turns the
scores into a lower bound on epsilon (`discreet.audit.bounds`). `judge` does the same for scores made
elsewhere. A bound above the claim means that the claim is false, with the stated confidence; a bound below
it proves nothing, but a bound close to it means that little noise is wasted.

**The best score for an iterative fit** is the likelihood ratio of its whole transcript. Given what was
released in the rounds before, the noiseless statistic of the next round can be recomputed in both worlds, so
    score = sum over rounds of log P[release | world 1, past] - log P[release | world 0, past]
is known exactly, and no other score separates the worlds better (Neyman and Pearson). `likelihood_ratio`
computes it. The attacker may know everything but the noise.

**Trusts** nothing. Worlds should be invented data: whoever sees scores of real rows learns about them.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from discreet.audit.bounds import epsilon_lower, gaussian_epsilon_lower
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.accounting.event import Mechanism

__all__ = [
    "Finding",
    "Method",
    "NoiseLaw",
    "distinguish",
    "gaussian_ratio",
    "judge",
    "laplace_ratio",
    "likelihood_ratio",
]

Method = Literal["counting", "gaussian"]
World = TypeVar("World")
Output = TypeVar("Output")


@dataclass(frozen=True)
class Finding:
    """What an attack proves: epsilon is at least ``epsilon_lower`` at ``delta``, with this confidence.

    ``runs`` counts the runs of both worlds; ``method`` names the attack.
    """

    epsilon_lower: float
    method: str
    runs: int
    claim: float
    delta: float
    confidence: float

    @property
    def caught(self) -> bool:
        """True if the claim is refuted."""
        return self.epsilon_lower > self.claim

    def words(self) -> str:
        """The finding in plain words."""
        verdict = (
            "The claim is false: the mechanism reveals more than it says."
            if self.caught
            else "The attack does not refute the claim."
        )
        return (
            f"{self.runs:,} runs ({self.method}) show with {100 * self.confidence:.4g} % confidence that "
            f"epsilon is at least {self.epsilon_lower:.3g} at delta {self.delta:g}. "
            f"Claimed is {self.claim:.3g}. {verdict}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {**asdict(self), "caught": self.caught}


@dataclass(frozen=True)
class NoiseLaw:
    """The law of the noise of one round in the units of its release: standard deviation or Laplace scale."""

    mechanism: Mechanism
    scale: float

    def __post_init__(self) -> None:
        if self.mechanism not in ("gaussian", "laplace"):
            raise ParameterError("no such noise", got=self.mechanism, wanted="gaussian or laplace")
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise ParameterError("noise must have a scale", got=self.scale, wanted="a finite number above 0")


def distinguish(
    run: Callable[[World], Output],
    world0: World,
    world1: World,
    score: Callable[[Output], float],
    runs: int,
    delta: float,
    *,
    claim: float,
    confidence: float = 0.95,
    method: Method = "counting",
) -> Finding:
    """Run a mechanism ``runs`` times in each world, score the outputs, and bound epsilon from below.

    ``method="gaussian"`` gives tighter bounds and is valid only for mechanisms that claim Gaussian privacy:
    those made of Gaussian noise alone.
    """
    if runs < 6:
        raise ParameterError(
            "too few runs to prove anything", got=runs, wanted="at least 6, better thousands"
        )
    scores0 = [score(run(world0)) for _ in range(runs)]
    scores1 = [score(run(world1)) for _ in range(runs)]
    return judge(scores0, scores1, delta, claim=claim, confidence=confidence, method=method)


def judge(
    scores0: ArrayLike,
    scores1: ArrayLike,
    delta: float,
    *,
    claim: float,
    confidence: float = 0.95,
    method: Method = "counting",
) -> Finding:
    """A finding from scores of independent runs in two worlds."""
    if method not in ("counting", "gaussian"):
        raise ParameterError("no such method", got=method, wanted="counting or gaussian")
    bound = gaussian_epsilon_lower if method == "gaussian" else epsilon_lower
    return Finding(
        epsilon_lower=bound(scores0, scores1, delta, confidence),
        method=method,
        runs=int(np.size(scores0) + np.size(scores1)),
        claim=claim,
        delta=delta,
        confidence=confidence,
    )


def likelihood_ratio(
    transcript: Sequence[NDArray[np.float64]],
    clean: Callable[[World, Sequence[NDArray[np.float64]]], NDArray[np.float64]],
    world0: World,
    world1: World,
    noise: Sequence[NoiseLaw],
) -> float:
    """How much likelier a transcript is in world 1 than in world 0, as a logarithm.

    ``transcript`` holds the vector released in each round; ``clean(world, past)`` gives the noiseless vector
    of the round that follows the releases in ``past``; ``noise`` holds the law of each round.
    """
    if len(transcript) != len(noise):
        raise ParameterError(
            "every round needs a law", got=(len(transcript), len(noise)), wanted="equal lengths"
        )
    parts: list[float] = []
    for index, (released, law) in enumerate(zip(transcript, noise, strict=True)):
        past = transcript[:index]
        ratio = gaussian_ratio if law.mechanism == "gaussian" else laplace_ratio
        parts.append(ratio(released, clean(world0, past), clean(world1, past), law.scale))
    return math.fsum(parts)


def gaussian_ratio(released: ArrayLike, center0: ArrayLike, center1: ArrayLike, scale: float) -> float:
    """log N(released; center1, scale^2) - log N(released; center0, scale^2), summed over numbers.

    Written as (c1 - c0) ((x - c0) + (x - c1)) / (2 s^2): the squares would cancel.
    """
    shift, twice = _gaps(released, center0, center1)
    return float(np.dot(shift, twice / 2)) / scale / scale


def laplace_ratio(released: ArrayLike, center0: ArrayLike, center1: ArrayLike, scale: float) -> float:
    """log Lap(released; center1, scale) - log Lap(released; center0, scale), summed over numbers.

    |x - c0| - |x - c1| is (x - c0) + (x - c1), times the sign of c1 - c0, cut off at |c1 - c0|.
    """
    shift, twice = _gaps(released, center0, center1)
    size = np.abs(shift)
    return float(np.sum(np.clip(np.sign(shift) * twice, -size, size))) / scale


def _gaps(
    released: ArrayLike, center0: ArrayLike, center1: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """c1 - c0, and (x - c0) + (x - c1)."""
    values, start, end = (
        np.asarray(array, dtype=np.float64).ravel() for array in (released, center0, center1)
    )
    if not values.size == start.size == end.size:
        raise ParameterError(
            "a release and its noiseless twins differ in length",
            got=(values.size, start.size, end.size),
            wanted="three equal lengths",
        )
    return end - start, (values - start) + (values - end)
