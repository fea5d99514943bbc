"""The two-world game, played for real: what an epsilon means, in guesses won and lost.

An adversary proposes two data sets that differ in one row: S, n zeros, and S', a one and n - 1 zeros. The
learner takes one of them by a fair coin and answers with its mean plus Laplace noise of scale
1 / (n epsilon), drawn by `discreet.mechanisms.noise.release`. The adversary says S' if the answer exceeds a
threshold. Whatever the threshold, epsilon-privacy allows the adversary at most
    P[says S' | S'] <= e^epsilon P[says S' | S],    advantage <= (e^epsilon - 1) / (e^epsilon + 1),
where the advantage is P[says S' | S'] - P[says S' | S]. Against Laplace noise the threshold half-way between
the means is best for the adversary and reaches 1 - e^(-epsilon / 2), which is a little less.

`noise_scale_factor` lets the learner cheat: 1/2 halves the noise, 0 answers without any. The adversary then
wins more often than the claim allows, and the bound on epsilon from the counts says so.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.event import Event
from discreet.audit.bounds import epsilon_from_counts
from discreet.errors import ParameterError
from discreet.mechanisms.noise import release
from discreet.statistic import Statistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.randomness import Bits

__all__ = ["Outcome", "play"]

_UNITS = 2**20
_LARGEST = 10_000_000


@dataclass(frozen=True)
class Outcome:
    """How a game went.

    ``said_one_in_one`` of ``rounds_in_one`` rounds with S' were called S', and ``said_one_in_zero`` of
    ``rounds_in_zero`` rounds with S. ``epsilon_lower`` holds with ``confidence``.
    """

    epsilon: float
    size: int
    rounds: int
    threshold: float
    noise_scale_factor: float
    rounds_in_zero: int
    rounds_in_one: int
    said_one_in_zero: int
    said_one_in_one: int
    epsilon_lower: float
    confidence: float

    @property
    def right(self) -> int:
        """Rounds in which the adversary guessed the world."""
        return self.said_one_in_one + self.rounds_in_zero - self.said_one_in_zero

    @property
    def advantage(self) -> float:
        """P[says S' | S'] - P[says S' | S], as played: 0 is guessing, 1 is knowing."""
        return self.said_one_in_one / self.rounds_in_one - self.said_one_in_zero / self.rounds_in_zero

    @property
    def advantage_allowed(self) -> float:
        """The most that the claimed epsilon allows any adversary on average."""
        return math.tanh(self.epsilon / 2)

    @property
    def caught(self) -> bool:
        """True if the claimed epsilon is refuted."""
        return self.epsilon_lower > self.epsilon

    def words(self) -> str:
        """The outcome in plain words."""
        noise = {0.0: "no noise", 1.0: "the full noise"}.get(
            self.noise_scale_factor, f"{self.noise_scale_factor:g} times the noise"
        )
        verdict = (
            "The claim is false: the learner reveals more than it says."
            if self.caught
            else "The game does not refute the claim."
        )
        return (
            f"Claimed: epsilon {self.epsilon:g} for the mean of {self.size:,} rows. The learner answered "
            f"{self.rounds:,} times with {noise}. The adversary guessed {self.right:,} times right "
            f"({100 * self.right / self.rounds:.1f} %), an advantage of {self.advantage:.3f} where the claim "
            f"allows {self.advantage_allowed:.3f}. So epsilon is at least {self.epsilon_lower:.3g} "
            f"({100 * self.confidence:g} % confidence). {verdict}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain data."""
        return {
            **asdict(self),
            "right": self.right,
            "advantage": self.advantage,
            "advantage_allowed": self.advantage_allowed,
            "caught": self.caught,
        }


def play(
    epsilon: float,
    size: int,
    rounds: int,
    threshold: float | None = None,
    noise_scale_factor: float = 1.0,
    *,
    bits: Bits,
    confidence: float = 0.95,
) -> Outcome:
    """Play the game; by default the threshold lies half-way between the two means.

    **Reveals** nothing: both data sets are the adversary's own. ``bits`` throws the coins and, if seeded,
    draws the noise.
    """
    _check(epsilon, size, rounds, threshold, noise_scale_factor)
    level = 0.5 / size if threshold is None else float(threshold)
    worlds = bits.integers(0, 2, rounds)
    worlds[:2] = (0, 1)  # each world at least once, so that no share is empty
    says_one = _answers(worlds, epsilon, size, noise_scale_factor, bits) > level
    counts = {
        "rounds_in_zero": int(np.sum(worlds == 0)),
        "rounds_in_one": int(np.sum(worlds == 1)),
        "said_one_in_zero": int(np.sum(says_one & (worlds == 0))),
        "said_one_in_one": int(np.sum(says_one & (worlds == 1))),
    }
    lower = epsilon_from_counts(
        counts["said_one_in_zero"],
        counts["rounds_in_zero"],
        counts["said_one_in_one"],
        counts["rounds_in_one"],
        0.0,
        confidence,
    )
    return Outcome(
        epsilon=float(epsilon),
        size=size,
        rounds=rounds,
        threshold=level,
        noise_scale_factor=float(noise_scale_factor),
        **counts,
        epsilon_lower=lower,
        confidence=confidence,
    )


class _Table:
    """Nobody is charged: the rows are the adversary's own invention."""

    guarantee = None

    def draw(self, event: Event) -> None:
        """Let the learner draw."""


def _answers(
    worlds: NDArray[np.int64], epsilon: float, size: int, factor: float, bits: Bits
) -> NDArray[np.float64]:
    """The learner's answer in every round: a noisy mean.

    The rounds are independent games, each with data of its own, so one person's change is that of one round.
    """
    if factor == 0:
        return worlds / size
    means = Statistic(
        total=worlds.astype(object) * _UNITS,
        grid=1.0 / (size * _UNITS),
        l1=float(_UNITS),
        l2=float(_UNITS),
        label="means of the game",
    )
    return release(means, Event("laplace", factor / epsilon), _Table(), bits)


def _check(epsilon: float, size: int, rounds: int, threshold: float | None, factor: float) -> None:
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ParameterError(
            "epsilon must be a positive number", got=epsilon, wanted="0 < epsilon < infinity"
        )
    if size < 1:
        raise ParameterError("the data sets need rows", got=size, wanted="size >= 1")
    if not 6 <= rounds <= _LARGEST:
        raise ParameterError("not a number of rounds", got=rounds, wanted=f"6 to {_LARGEST:,} rounds")
    if threshold is not None and not math.isfinite(threshold):
        raise ParameterError("the threshold is not a number", got=threshold, wanted="a finite number")
    if not (math.isfinite(factor) and factor >= 0):
        raise ParameterError(
            "the noise cannot be scaled by that", got=factor, wanted="0 (no noise) or a positive number"
        )
