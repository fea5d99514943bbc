"""How a computation on shares ends: words stay shared, or are opened to those whom the plan names.

A garbled circuit gives out word - mask modulo 2**width, with a mask that only the garbler knows: the
evaluator learns its share, the garbler keeps the mask as its own. To open, a party sends its share to the
other.

**Reveals** exactly the word, to the named party; shares alone are uniform.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.errors import ParameterError
from discreet.protocols.step import Limit, Receive, Send

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

__all__ = [
    "Opened",
    "Party",
    "check_opened",
    "check_words",
    "open_words",
    "random_words",
    "reduce_words",
    "signed_words",
]

Opened = Literal["shares", "garbler", "evaluator", "both"]
"""Who learns an answer; with "shares" nobody."""

Party = Literal["garbler", "evaluator"]


def check_opened(opened: str) -> None:
    """Refuse an unknown rule."""
    if opened not in ("shares", "garbler", "evaluator", "both"):
        raise ParameterError("no such answer", got=opened, wanted="shares, garbler, evaluator or both")


def check_words(words: NDArray[Any], width: int, shape: tuple[int, ...]) -> NDArray[np.uint64]:
    """Refuse shares of another form, or wider than declared. Never says what they are."""
    if words.dtype != np.uint64 or words.shape != shape:
        raise ParameterError(
            "shares have the wrong form", got=(words.dtype.str, words.shape), wanted=f"uint64 {shape}"
        )
    if width < 64 and (words >> np.uint64(width)).any():
        raise ParameterError("shares are wider than the plan declares", wanted=f"words below 2**{width}")
    return words


def random_words(bits: Bits, width: int, shape: tuple[int, ...]) -> NDArray[np.uint64]:
    """Uniform words."""
    raw = np.frombuffer(bits.bytes(8 * int(np.prod(shape))), dtype="<u8").astype(np.uint64)
    return reduce_words(raw.reshape(shape), width)


def reduce_words(words: NDArray[Any], width: int) -> NDArray[np.uint64]:
    """Integers modulo 2**width."""
    return words.astype(np.uint64) & np.uint64(2**width - 1)


def signed_words(words: NDArray[np.uint64], width: int) -> NDArray[np.int64]:
    """Words modulo 2**width as numbers in two's complement."""
    spare = np.uint64(64 - width)
    return (words << spare).view(np.int64) >> np.int64(spare)


def open_words(
    mine: NDArray[np.uint64], width: int, opened: Opened, party: Party
) -> Steps[NDArray[np.uint64] | None]:
    """The last step of a role: its share, or the opened words, or None if only the other party learns."""
    if opened == "shares":
        return mine
    if opened != party:
        yield Send("open/shares", {"words": mine})
    if opened not in (party, "both"):
        return None
    told = yield Receive("open/shares", {"words": Limit.array("<u8", mine.shape)})
    return reduce_words(mine + told["words"], width)
