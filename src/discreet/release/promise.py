"""`Promise`: what a release, and a stream of them, promises; per joined pair, and over time only where it holds."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Promise"]


@dataclass(frozen=True)
class Promise:
    """The guarantee of a stream.

    `discreet.accounting.guarantee.Guarantee` is about persons in a data set; this is about states of one person.
    ``epsilon`` is the sum over the questions of one step; ``joined`` says in words which states are joined;
    ``cut`` and ``delta`` say which states count as possible. ``exact_noise`` is False for noise in doubles,
    ``seeded`` noise can be taken away by whoever knows the seed.
    """

    epsilon: float
    questions: tuple[tuple[str, float], ...]
    joined: str
    cut: float
    delta: float
    exact_noise: bool
    seeded: bool
    map_is: str

    @property
    def private(self) -> bool:
        """Whether anything is promised at all."""
        return self.exact_noise and not self.seeded

    def summary(self) -> str:
        """The promise on one line."""
        size = f"epsilon {self.epsilon:g} per step for joined possible states"
        return size if self.private else f"not private ({self._failing()}): {size}"

    def words(self) -> str:
        """The promise in plain words, for people who sign things."""
        lines = [] if self.private else [f"WARNING: not private ({self._failing()}). Nothing is protected."]
        odds = f"{math.exp(self.epsilon):.3g}" if self.epsilon < 700 else "more than 10^300"
        parts = ", ".join(f"{epsilon:g} for {name}" for name, epsilon in self.questions)
        lines += [
            f"What is protected: at each step, which of two joined possible states somebody is in. Joined are "
            f"{self.joined}.",
            f"Guarantee: one release changes the odds of any two joined possible states by at most a factor "
            f"e^epsilon = {odds} (epsilon {self.epsilon:g}: {parts}), given everything released before. States "
            "whose answers differ by no more than the hull are protected alike, joined or not; states farther "
            "apart by epsilon times how far, in hulls.",
            f"What is possible: {self._possible()}",
            "Over time: the epsilons of the steps add up for two whole trajectories that are joined, or equal, "
            "at every step; for no others. They do not bound what all releases together say about one past "
            "moment: later releases can tell joined states apart if what follows them differs. The leakage "
            "report computes how much they did.",
            "Who is trusted: nobody but the person's own device, which draws the noise. The map and the policy "
            f"are public. {self.map_is}",
            "What is revealed: the released points, when they were released, and everything that can be "
            "inferred from them with the map. How long a release takes is not protected.",
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The promise as plain data."""
        return {**asdict(self), "private": self.private}

    def _possible(self) -> str:
        if self.delta:
            return (
                f"the fewest states that hold {1 - self.delta:g} of the probability given everything released "
                "before. Elsewhere the nearest of them is released instead; such a state is only as hidden as "
                "its stand-in."
            )
        if self.cut:
            return (
                f"states with probability above {self.cut:g} given everything released before. Elsewhere the "
                "nearest of them is released instead; such a state is only as hidden as its stand-in."
            )
        return "every state that the map allows given everything released before."

    def _failing(self) -> str:
        reasons = [
            name
            for name, holds in (("noise in doubles", not self.exact_noise), ("seeded", self.seeded))
            if holds
        ]
        return ", ".join(reasons)
