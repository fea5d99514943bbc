"""Widths of all integers of a question, from public ranges alone: nothing overflows, and the error is known.

Features u have coordinates in [-1, 1] (`discreet.speech.front`). The score of a component is a linear form

    s = constant + sum_k w_k z_k,       z = [u, u u' above and on the diagonal]  or  [u, u^2],   |z_k| <= 1.

The owner of the model declares `Ranges`: bounds rounded up to powers of two, which hold for **every** u in
the box, however unlike speech it is. They are all that the widths reveal of the model.

**On the grid.** z is rounded to multiples of 2**-f, w to multiples of 2**-g, the constant to 2**-(f+g). The
sums of products are exact modulo 2**share_bits but for one unit (`discreet.crypto.setting`). Both parties
then drop the lowest ``drop`` = f + g - fraction bits of their shares: what is left are shares modulo
2**score_width of the score in units of 2**-fraction, rounded down, or one unit less.

**No overflow, scores.** With w as rounded and all |z_k| <= 1 the sum is below (total + terms 2**-g + constant
+ 1) 2**(f+g) < 2**(share_bits - 1), which `discreet.protocols.scores.Scores` checks. Scores of components lie
in [-low - margin, high + margin], what joins of them adds included: less than 2**(score_width - 1 - fraction)
from zero and from each other.

**No overflow, recursion.** With T frames, N states and log starts and transitions of at least -least, every
possible path of any length t <= T is worth between -(t (low + margin) + (t + 1) least) and t (high + margin),
and a log-sum over paths at most t log N more; joins add ``slack`` nats each. So what is possible lies within
S = T (low + high + 2 margin) + (T + 1) least + T (log N + joins slack) + 1 of each other; what is impossible
costs `never` >= S + 10, and all words that are ever compared lie within S + 2 never of each other: less than
2**(width - 1 - fraction). Words may wrap: only differences are looked at.
`discreet.protocols.recursion.check_range` proves it once more with the weights themselves, at the owner's
end, before anything is sent.

**Error.** A score is off by at most

    total 2**-(f+1) + terms (2**-(g+1) + 2**-(f+g+2)) + 3 * 2**-(f+g+1) + 2 * 2**-fraction

and log-sum is a contraction: errors of frames, transitions (half a unit each) and tables add up at most, so
the total of a word is off by at most `Precision.error` nats, whatever the features. Decisions with a margin
of twice that are proven right. In practice errors have both signs: `Precision.typical` is about the root of
the sum of their squares.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from discreet.crypto.logsum import table
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Kind", "Precision", "Ranges"]

Kind = Literal["full", "diag", "symbols"]
"""What is scored: points under full or diagonal covariances, or symbols."""

_MOST_SHARE = 48
"""Bits of a share that lattices of degree 8192 have room for."""

_FINEST = 20
"""More bits after the point than this change nothing."""


@dataclass(frozen=True)
class Ranges:
    """What the owner of a model declares: each the logarithm of a bound to base 2, rounded up.

    ``heaviest`` bounds |w_k|, ``total`` the sum of |w_k| of a component, ``constant`` its constant; ``low``
    and ``high`` the scores of a frame in both directions; ``least`` is that of |log| of every possible start,
    transition or weight of a component.
    """

    heaviest: int
    total: int
    constant: int
    low: int
    high: int
    least: int

    def __post_init__(self) -> None:
        if not all(-40 <= bound <= 40 for bound in asdict(self).values()):
            raise ParameterError(
                "a declared bound is none", got=asdict(self), wanted="exponents of -40 to 40"
            )

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Ranges:
        """From plain data."""
        return Ranges(**plain)


@dataclass(frozen=True)
class Precision:
    """The widths for questions of at most ``frames`` frames; ``inward`` arcs end in a state at most."""

    kind: Kind
    dimension: int
    states: int
    mixtures: int
    frames: int
    inward: int
    ranges: Ranges
    maximum: bool = False
    fraction: int = 8
    table_error: float = 1 / 64

    def __post_init__(self) -> None:
        if min(self.dimension, self.states, self.mixtures, self.frames) < 1:
            raise ParameterError("sizes are counted from one", got=(self.dimension, self.states, self.frames))
        if self.kind != "symbols" and min(self.feature_bits, self.weight_bits) < 4:
            raise ParameterError(
                "features and weights have too little room for their fractions",
                got=f"{self.feature_bits} and {self.weight_bits} bits",
                wanted="at least 4 each",
                remedy="Declare a narrower range of features, fewer frames, or larger least variances.",
            )

        if self.frame_error > self._margin:
            raise ParameterError(
                "scores would be rounded too much", got=f"{self.frame_error:.3g} nats a frame",
                wanted=f"at most {self._margin:g}",
                remedy="Declare a narrower range of features, or fit with a larger least variance.",
            )  # fmt: skip

    @property
    def terms(self) -> int:
        """Features of a frame: how many products a score sums up."""
        if self.kind == "symbols":
            return 0
        size = self.dimension
        return size + size * (size + 1) // 2 if self.kind == "full" else 2 * size

    @property
    def low(self) -> float:
        """No score is below minus this, in nats; rounding included."""
        return 2.0**self.ranges.low + self._margin

    @property
    def high(self) -> float:
        """No score is above this, in nats; rounding included."""
        return 2.0**self.ranges.high + self._margin

    @property
    def slack(self) -> float:
        """What one join of two paths is off at most."""
        return 0.0 if self.maximum else table(self.fraction, self.table_error).error

    @property
    def never(self) -> float:
        """What an impossible start or transition costs."""
        return float(2 ** math.ceil(math.log2(self._spread + 10)))

    @property
    def width(self) -> int:
        """Bits of a word of the recursion."""
        return max(1 + self.fraction + math.ceil(math.log2(self._spread + 2 * self.never)), self._least)

    @property
    def score_width(self) -> int:
        """Bits of a word that holds one score."""
        reach = math.ceil(math.log2(self.low + self.high + 1))
        return max(1 + self.fraction + reach, self._least)

    @property
    def feature_bits(self) -> int:
        """f: bits after the point of a feature."""
        return min(_FINEST, self._room - self.weight_bits)

    @property
    def weight_bits(self) -> int:
        """g: bits after the point of a weight, so that both roundings matter alike in the worst case."""
        if self.kind == "symbols":
            return 0
        even = (self._room - self.ranges.total + math.log2(self.terms)) / 2
        return max(4, min(_FINEST, math.floor(even), self._room - 4))

    @property
    def share_bits(self) -> int:
        """Bits of a share of a score before the lowest are dropped."""
        return self._whole + self.feature_bits + self.weight_bits

    @property
    def drop(self) -> int:
        """Bits that are dropped."""
        return max(0, self.feature_bits + self.weight_bits - self.fraction)

    @property
    def frame_error(self) -> float:
        """How far a frame's score is off at most, in nats."""
        if self.kind == "symbols":
            return 2.0 ** -(self.fraction + 1)
        f, g = self.feature_bits, self.weight_bits
        weighed = 2.0 ** (self.ranges.total - f - 1) + self.terms * (2.0 ** -(g + 1) + 2.0 ** -(f + g + 2))
        return weighed + 3 * 2.0 ** -(f + g + 1) + 2 * 2.0**-self.fraction

    @property
    def error(self) -> float:
        """How far the total of a word is off at most after all frames, in nats."""
        mixed = (self.mixtures - 1).bit_length() * table(self.fraction, self.table_error).error
        step = self.frame_error + mixed + self._joins * self.slack + 2.0 ** -(self.fraction + 1)
        return self.frames * step + (self.states - 1).bit_length() * self.slack

    @property
    def typical(self) -> float:
        """About how far it is off, if errors of rounding are independent and weights alike: not a bound."""
        unit = 2.0**-self.fraction
        squares = unit**2 / 3 + (self.slack / 2) ** 2
        if self.kind != "symbols":
            feature = 2.0 ** (self.ranges.total - self.feature_bits) / math.sqrt(12 * self.terms)
            weight = math.sqrt(self.terms / 12) * 2.0**-self.weight_bits
            squares += feature**2 + weight**2
        return math.sqrt(self.frames * squares)

    @property
    def _least(self) -> int:
        """Bits without which paths cannot be joined."""
        joined = self.mixtures > 1 or not self.maximum
        return table(self.fraction, self.table_error).reach + 2 if joined else self.fraction + 3

    @property
    def _joins(self) -> int:
        """Joins one after the other in a step."""
        return (self.inward - 1).bit_length()

    @property
    def _room(self) -> int:
        """f + g: what a share has beside the whole numbers of a word."""
        return _MOST_SHARE - self._whole

    @property
    def _whole(self) -> int:
        """Bits of a share before the point: those of a score, or what weights as declared could reach."""
        reach = 2.0**self.ranges.total + 2.0**self.ranges.constant + self.terms / 16 + 1
        return max(self.score_width - self.fraction, math.ceil(math.log2(reach)) + 1)

    @property
    def _margin(self) -> float:
        """How far rounding may move a score of a frame; where it could move it further is refused."""
        return 16.0

    @property
    def _spread(self) -> float:
        """S: how far what is possible lies apart, in nats."""
        step = 2.0**self.ranges.low + 2.0**self.ranges.high + 2 * self._margin
        joins = self._joins * self.slack + math.log(self.states)
        return self.frames * (step + joins) + (self.frames + 1) * 2.0**self.ranges.least + 1
