"""What a Blowfish policy means for the presence of each secret in a database (section 5.3 of the paper).

A policy graph joins secrets (possible rows). K-norm noise on the hull of the differences f(s) - f(s') of
joined secrets hides *which* of two joined secrets a row is, at epsilon. It was not asked to hide *that* a row
is there; but adding a row with secret s moves the answer by f(s), so it hides that at epsilon times
||f(s)||_K: less than epsilon for some secrets, more for others, though they are joined to none or to many.
And for any two secrets, joined or not, it is epsilon times ||f(s) - f(s')||_K (theorem 5.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ExposedError
from discreet.mechanisms.body import body_of, diamond
from discreet.mechanisms.gauge import check_epsilon

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["Secrets", "secrets_of"]


@dataclass(frozen=True, eq=False)
class Secrets:
    """Epsilons: ``presence`` of each secret, and ``change`` (n, n) of one into another; infinite if not
    hidden.
    """

    names: tuple[str, ...]
    presence: NDArray[np.float64]
    change: NDArray[np.float64]

    @property
    def worst(self) -> float:
        """The unbounded differential privacy of the whole: adding or removing any one row."""
        return float(self.presence.max())

    def to_dict(self) -> dict[str, Any]:
        """The epsilons of presence by name."""
        return dict(zip(self.names, self.presence.tolist(), strict=True))


def secrets_of(
    answers: Mapping[str, Sequence[int]],
    pairs: Sequence[tuple[str, str]],
    epsilon: float,
    mechanism: str = "gauge",
) -> Secrets:
    """How well each secret is hidden. ``answers`` says by which integers a row with it moves the query."""
    names = tuple(answers)
    table = np.array([answers[name] for name in names], dtype=np.int64)
    budget = check_epsilon(epsilon)
    place = {name: index for index, name in enumerate(names)}
    moves = np.array([table[place[i]] - table[place[j]] for i, j in pairs]).reshape(-1, table.shape[1])
    body = body_of(moves) if mechanism == "gauge" else diamond(moves)
    if not body.rank:
        raise ExposedError(
            "no two joined secrets have different answers", wanted="an edge that hides something"
        )
    apart = (table[:, None, :] - table[None, :, :]).reshape(-1, table.shape[1])
    return Secrets(
        names, budget * body.gauge(table), budget * body.gauge(apart).reshape(len(names), len(names))
    )
