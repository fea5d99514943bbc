"""Numbers of a request, checked alike by every fit: budgets, whole numbers, ranges, choices.

Each raises `ParameterError` before anything is read, drawn or charged.
"""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["check_choice", "check_delta", "check_epsilon", "check_number", "check_whole"]


def check_epsilon(value: object) -> float:
    """A privacy budget as a number; infinity is a plain fit."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not float(value) >= 1e-6:
        raise ParameterError(
            "epsilon is not a privacy budget",
            got=value,
            wanted="a number above 0 (at least a millionth)",
            remedy="Around 1 is usual; float('inf') fits without privacy.",
        )
    return float(value)


def check_delta(value: object, epsilon: float, *, pure: bool | None = None) -> float:
    """The other half of the budget; 0 for plain fits.

    ``pure`` says whether the chosen noise does without it, None that there is no other noise to choose.
    """
    if math.isinf(epsilon) or (value is None and pure):
        return 0.0
    if value is None:
        raise ParameterError(
            "delta is not chosen",
            wanted="a number in (0, 1)",
            remedy="Well below one over the number of people, for example 1e-6"
            + ("." if pure is None else "; noise='laplace' needs none."),
        )
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= float(value) < 1:
        raise ParameterError("delta is not a probability below 1", got=value, wanted="0 <= delta < 1")
    if value == 0 and not pure:
        raise ParameterError(
            "Gaussian noise cannot give delta 0",
            got=value,
            wanted="delta above 0" + ("" if pure is None else ", or noise='laplace'"),
        )
    return float(value)


def check_whole(name: str, value: object, low: int, high: int = 2**62) -> None:
    """A whole number in a range."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < low:
        raise ParameterError(f"{name} is not a whole number", got=value, wanted=f"{low} or more")
    if int(value) > high:
        raise ParameterError(f"{name} is too large", got=value, wanted=f"at most {high}")


def check_number(name: str, value: object, *, low: float, high: float = 1e300, remedy: str = "") -> None:
    """A real number in a range."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not low <= float(value) <= high:
        raise ParameterError(
            f"{name} is out of range", got=value, wanted=f"a number from {low:g} to {high:g}", remedy=remedy
        )


def check_choice(name: str, value: object, among: Iterable[object]) -> None:
    """One of several names."""
    if value not in (choices := tuple(among)):
        raise ParameterError(f"there is no such {name}", got=value, wanted=" or ".join(map(str, choices)))
