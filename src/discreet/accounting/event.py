"""One planned release of noise: which law, how much of it over how much one unit can change, how often.

**One relation only.** ``noise`` is noise over sensitivity for *adding or removing* one unit (a row, or all
rows of one person). The relation "replace one" is never passed to `dp_accounting`, whose Renyi accountant
silently ignores it for these two mechanisms. A run whose guarantee says "change one" divides its noise by
what changing one unit can do; the arithmetic is the same.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dp_accounting import DpEvent

__all__ = ["Event", "Mechanism", "check_number"]

Mechanism = Literal["gaussian", "laplace"]

_MECHANISMS = ("gaussian", "laplace")
_FIELDS = {"mechanism", "noise", "count", "label"}


@dataclass(frozen=True)
class Event:
    """``count`` releases of one noisy vector each.

    **Costs** for "gaussian": ``noise`` is the standard deviation over the L2 bound of one unit, and every
    release is (1 / noise)-Gaussian private. For "laplace": ``noise`` is the scale over the L1 bound, and
    every release is (1 / noise)-differentially private with delta 0.
    """

    mechanism: Mechanism
    noise: float
    count: int = 1
    label: str = ""

    def __post_init__(self) -> None:
        if self.mechanism not in _MECHANISMS:
            raise ParameterError(
                "no such mechanism", got=self.mechanism, wanted='mechanism="gaussian" or "laplace"'
            )
        noise = check_number("the noise of an event", self.noise)
        if not (math.isfinite(noise) and noise > 0):
            raise ParameterError(
                "the noise of an event must be a positive multiple of what one unit can change",
                got=noise,
                wanted="0 < noise < infinity",
                remedy="A release without noise has no finite cost: it is not an event.",
            )
        if isinstance(self.count, bool) or not isinstance(self.count, numbers.Integral) or self.count < 1:
            raise ParameterError(
                "the count of an event must be a whole number", got=self.count, wanted=">= 1"
            )
        object.__setattr__(self, "noise", noise)
        object.__setattr__(self, "count", int(self.count))

    def scaled(self, factor: float) -> Event:
        """The same release with ``factor`` times the noise."""
        return replace(self, noise=self.noise * factor)

    def to_dict(self) -> dict[str, Any]:
        """The event as plain data; JSON keeps it exactly."""
        return {
            "mechanism": self.mechanism,
            "noise": self.noise,
            "count": self.count,
            "label": self.label,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Event:
        """Read back what `to_dict` wrote."""
        if set(plain) != _FIELDS:
            raise ParameterError(
                "this is not an event", got=sorted(map(str, plain)), wanted=", ".join(sorted(_FIELDS))
            )
        return cls(**plain)

    def to_dp_event(self) -> DpEvent:
        """The event in the vocabulary of `dp_accounting`, for any other accountant to check."""
        from dp_accounting import GaussianDpEvent, LaplaceDpEvent, SelfComposedDpEvent

        single = GaussianDpEvent(self.noise) if self.mechanism == "gaussian" else LaplaceDpEvent(self.noise)
        return single if self.count == 1 else SelfComposedDpEvent(single, self.count)


def check_number(name: str, value: object) -> float:
    """The value as a float; refuses text, truth values, and what is not a number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or math.isnan(value):
        raise ParameterError(f"{name} is not a number", got=value, wanted="a number")
    return float(value)
