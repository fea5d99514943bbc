"""Where triples for masked products come from: a helper who deals them, or transfers between two parties.

**Dealt.** The helper sends everybody a seed, and the last party what makes the shares a triple. Trusts that
it colludes with nobody.

**Transferred** (Gilboa 1999). a * b = (a0 + a1)(b0 + b1), and each party can do its own a_i * b_i. For a0 *
b1 the first offers, for every bit k of every b1[row, t], the words (p, p + 2**k a0[row, :]) with p uniform;
the second takes the one that its bit says. The sum of what was taken less the sum of all p is a0 * b1, and
both are uniform. The same the other way round. Trusts nobody but the transfers. **Costs** 64 transfers of
``left`` words for every row and right column, each way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.crypto.sharing import masks
from discreet.crypto.triple import Form, Triple, expanded
from discreet.protocols.step import Limit, Receive, domain
from discreet.randomness import expand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

    Numbers = NDArray[np.uint64]

__all__ = ["KEY", "Dealt", "Sends", "Source", "Takes", "Transferred"]

KEY = 32
"""Bytes of a seed."""

_VERSION = 1
_WORD = 64


class Source(Protocol):
    """Where a party's triples come from, in the same order for all parties."""

    def triple(self, form: Form) -> Steps[Triple]:
        """The next triple."""
        ...


class Dealt:
    """Triples from a helper, who sent a seed to everybody but corrections only to the last party."""

    def __init__(self, last: bool, helper: str = "helper") -> None:
        self._last, self._helper = last, helper
        self._seed: bytes | None = None
        self._number = 0

    def triple(self, form: Form) -> Steps[Triple]:
        """The next triple; the seed comes first."""
        if self._seed is None:
            told = yield Receive("product/seed", {"seed": Limit.raw(KEY)}, self._helper)
            self._seed = bytes(told["seed"])
        triple = expanded(form, self._seed, self._number)
        self._number += 1
        if self._last:
            limit = {"correction": Limit.array("<u8", form.shapes[2])}
            told = yield Receive("product/correction", limit, self._helper)
            triple.c = triple.c + told["correction"]
        return triple


class Sends(Protocol):
    """The end of a session of transfers that offers messages."""

    def send(self, messages: Numbers) -> Steps[None]:
        """Let the other end take one of messages[j] for every j; messages are (n, options, words)."""
        ...


class Takes(Protocol):
    """The end that chooses."""

    def take(self, choices: NDArray[Any], options: int, words: int) -> Steps[Numbers]:
        """One of ``options`` messages of so many words for every choice: (n, words)."""
        ...


class Transferred:
    """Triples that two parties make by transfers, one session each way; the ``first`` offers first."""

    def __init__(self, first: bool, sends: Sends, takes: Takes, bits: Bits) -> None:
        self._first, self._sends, self._takes = first, sends, takes
        label = domain("source", _VERSION, "transferred")
        self._bits = expand(bits.bytes(KEY), label, seeded=bits.seeded)

    def triple(self, form: Form) -> Steps[Triple]:
        """The next triple."""
        a, b = (masks(shape, self._bits) for shape in form.shapes[:2])
        if self._first:
            offered = yield from self._offer(form, a)
            taken = yield from self._take(form, b)
        else:
            taken = yield from self._take(form, b)
            offered = yield from self._offer(form, a)
        return Triple(form, a, b, form.of(a, b) + offered + taken)

    def _offer(self, form: Form, a: Numbers) -> Steps[Numbers]:
        """One's own a times the other's b: the share of the party that offers."""
        pads = masks((form.rows, form.right, _WORD, form.left), self._bits)
        powers = np.uint64(1) << np.arange(_WORD, dtype=np.uint64)
        steps = a[:, None, None, :] * powers[None, None, :, None]
        messages = np.stack([pads, pads + steps], axis=3)
        yield from self._sends.send(messages.reshape(-1, 2, form.left))
        return np.uint64(0) - _gathered(form, pads)

    def _take(self, form: Form, b: Numbers) -> Steps[Numbers]:
        """The other's a times one's own b: the share of the party that takes."""
        bits = (b[:, :, None] >> np.arange(_WORD, dtype=np.uint64)) & np.uint64(1)
        words = yield from self._takes.take(bits.ravel().astype(np.uint8), 2, form.left)
        return _gathered(form, words.reshape(form.rows, form.right, _WORD, form.left))


def _gathered(form: Form, words: Numbers) -> Numbers:
    """Sums over bits, and over rows if the form asks for it; words are (rows, right, 64, left)."""
    summed = words.sum(axis=2, dtype=np.uint64)
    if form.product == "sums":
        return summed.sum(axis=0, dtype=np.uint64).T
    return summed.transpose(0, 2, 1)
