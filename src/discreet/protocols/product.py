"""Sums of products of integers in columns held by different parties: each party ends with a share.

For counts of states take `discreet.protocols.families`, which moves a ninth of the bytes for ALARM
(decision 0058).

Columns are rows x width tables of integers, row for row about the same people; a column of states is a
table of zeros and ones. What is shared at the end is, modulo 2**64 (or 2**share_bits for `Pair`),
    N[j1, ..., jk] = sum over rows of x1[row, j1] x2[row, j2] ... xk[row, jk].

Three ways, three kinds of trust:

* **Two parties alone** (`Pair`, `hold` and `meet`): one encrypts its columns over a lattice. Trusts nobody
  else.
* **Any number with a helper** (`Joint`, `join_in` and `help_out`): masked products with triples that the
  helper deals. Trusts that the helper colludes with nobody; it sees no message but its own.
* **Three parties alone** (`Joint`, `be_one_of_three`): replicated shares. Trusts that no two of them collude.

Triples may also come from another `discreet.protocols.source`: two parties make them by oblivious transfer.

**Reveals** the number of rows, and widths, to everybody, and nothing of the columns: all that a party
receives are encryptions or uniform words. `opened` then reveals the result, exactly: add noise first if it
is about people. **Trusts** that parties follow the protocol: a wrong share changes the result unseen.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.layout import Matrix
from discreet.crypto.sharing import split
from discreet.crypto.trio import Held, multiplied, zero
from discreet.crypto.triple import Form, correction, sum_of
from discreet.errors import ParameterError, RangeError
from discreet.protocols.scores import Scores, ask, score
from discreet.protocols.source import KEY, Dealt
from discreet.protocols.step import Limit, Receive, Send, domain
from discreet.randomness import expand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.protocols.source import Source
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

    Numbers = NDArray[np.uint64]

__all__ = ["Joint", "Pair", "be_one_of_three", "help_out", "hold", "join_in", "meet", "opened"]

_VERSION = 1


@dataclass(frozen=True)
class Pair:
    """What two parties agree to: rows, both widths, the largest integers, and the bits of a share."""

    rows: int
    left: int
    right: int
    largest_left: int = 1
    largest_right: int = 1
    share_bits: int = 40

    def to_dict(self) -> dict[str, int]:
        """As plain data, for a plan that both sides hash."""
        return asdict(self)

    @staticmethod
    def of(plain: Mapping[str, int]) -> Pair:
        """From plain data."""
        return Pair(**plain)

    @property
    def scores(self) -> Scores:
        """The same as linear forms: columns of the first by columns of the second."""
        layout = Matrix(self.left, self.rows, self.right)
        return Scores(layout, self.largest_left, self.largest_right, self.share_bits)


def hold(columns: NDArray[np.int64], agreed: Pair, bits: Bits) -> Steps[Numbers]:
    """The first of two parties, who encrypts; returns its shares (left, right) modulo 2**share_bits."""
    return (yield from ask(np.ascontiguousarray(columns.T), agreed.scores, bits))


def meet(columns: NDArray[np.int64], agreed: Pair, bits: Bits) -> Steps[Numbers]:
    """The second, who computes; returns its shares (left, right) modulo 2**share_bits."""
    return (yield from score(columns, agreed.scores, bits))


@dataclass(frozen=True)
class Joint:
    """What all agree to: rows, the parties in order, each with its columns, and the largest integer.

    Raises `ParameterError` if a result could leave 64 bits with a sign.
    """

    rows: int
    widths: tuple[tuple[str, int], ...]
    largest: int = 1

    def __post_init__(self) -> None:
        if len(self.widths) < 2 or len(set(self.parties)) < len(self.widths):
            raise ParameterError("a joint count has at least two parties, each once", got=self.parties)
        if self.rows < 1 or self.largest < 1 or min(width for _, width in self.widths) < 1:
            raise ParameterError("rows, widths and bounds are positive", got=(self.rows, self.widths))
        if self.rows * self.largest ** len(self.widths) >= 2**63:
            raise ParameterError(
                "a result could leave its share", got=(self.rows, self.largest), wanted="below 2**63",
                remedy="Take coarser numbers.",
            )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for a plan that all hash."""
        return {"rows": self.rows, "widths": [list(pair) for pair in self.widths], "largest": self.largest}

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Joint:
        """From plain data."""
        widths = tuple((str(name), int(width)) for name, width in plain["widths"])
        return Joint(plain["rows"], widths, plain["largest"])

    @property
    def parties(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(name for name, _ in self.widths)

    @property
    def forms(self) -> tuple[Form, ...]:
        """The products that are taken, one after the other: pairs, and sums at the end."""
        sizes = [width for _, width in self.widths]
        reached = [math.prod(sizes[: i + 1]) for i in range(len(sizes))]
        kinds = ["pairs"] * (len(sizes) - 2) + ["sums"]
        steps = zip(kinds, reached[:-1], sizes[1:], strict=True)
        return tuple(Form("sums" if kind == "sums" else "pairs", self.rows, *pair) for kind, *pair in steps)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the result."""
        return tuple(width for _, width in self.widths)

    def words(self, name: str, columns: NDArray[np.int64]) -> Numbers:
        """A party's own columns, checked. Raises `RangeError` before anything is drawn or sent."""
        shape = (self.rows, dict(self.widths)[name])
        if columns.shape != shape or columns.dtype != np.int64:
            raise ParameterError("columns are not as agreed", got=columns.shape, wanted=f"int64 {shape}")
        if not (-self.largest <= columns.min() and columns.max() <= self.largest):
            raise RangeError("a number is larger than agreed", wanted=f"|number| <= {self.largest}")
        return columns.view(np.uint64)


def help_out(agreed: Joint, bits: Bits) -> Steps[None]:
    """The helper's role: it deals triples, learns nothing, and must not collude with any party."""
    seeds = [bits.bytes(KEY) for _ in agreed.parties]
    for name, seed in zip(agreed.parties, seeds, strict=True):
        yield Send("product/seed", {"seed": seed}, name)
    for number, form in enumerate(agreed.forms):
        parts = {"correction": correction(form, seeds, number)}
        yield Send("product/correction", parts, agreed.parties[-1])


def join_in(
    name: str, columns: NDArray[np.int64], agreed: Joint, source: Source | None = None
) -> Steps[Numbers]:
    """A party's role with a source of triples, a helper if none is given; returns its share."""
    own = agreed.words(name, columns)
    source = Dealt(name == agreed.parties[-1]) if source is None else source
    position = agreed.parties.index(name)
    share = own if position == 0 else np.zeros((agreed.rows, agreed.shape[0]), dtype=np.uint64)
    for step, form in enumerate(agreed.forms):
        other = own if position == step + 1 else np.zeros(form.shapes[1], dtype=np.uint64)
        triple = yield from source.triple(form)
        d, e = yield from _exchanged(name, agreed, form, *triple.masked(share, other))
        share = triple.product(d, e, first=position == 0).reshape(*form.shapes[2][:-2], -1)
    return share.reshape(agreed.shape)


def _exchanged(
    name: str, agreed: Joint, form: Form, d: Numbers, e: Numbers
) -> Steps[tuple[Numbers, Numbers]]:
    """Everybody's shares of masked factors, summed."""
    others = [party for party in agreed.parties if party != name]
    for party in others:
        yield Send("product/masked", {"d": d, "e": e}, party)
    limits = {"d": Limit.array("<u8", form.shapes[0]), "e": Limit.array("<u8", form.shapes[1])}
    for party in others:
        told = yield Receive("product/masked", limits, party)
        d, e = d + told["d"], e + told["e"]
    return d, e


def be_one_of_three(name: str, columns: NDArray[np.int64], agreed: Joint, bits: Bits) -> Steps[Numbers]:
    """A party's role among exactly three, without a helper; returns its share of the counts."""
    if len(agreed.parties) != 3:
        raise ParameterError("this protocol is for three parties", got=len(agreed.parties), wanted="3")
    own = agreed.words(name, columns)
    position = agreed.parties.index(name)
    after, before = (agreed.parties[(position + step) % 3] for step in (1, 2))
    key = bits.bytes(KEY)
    yield Send("product/key", {"key": key}, before)
    told = yield Receive("product/key", {"key": Limit.raw(KEY)}, after)
    held = yield from _replicated(name, own, agreed, bits)
    product = held[0]
    for number, form in enumerate(agreed.forms):
        nothing = zero(form.shapes[2], key, bytes(told["key"]), number)
        share = multiplied(form, product, held[number + 1], nothing)
        if form.product == "sums":
            return share.reshape(agreed.shape)
        share = share.reshape(agreed.rows, -1)
        yield Send("product/share", {"share": share}, before)
        seen = yield Receive("product/share", {"share": Limit.array("<u8", share.shape)}, after)
        product = Held(share, seen["share"])
    raise AssertionError("the last product is a sum")  # pragma: no cover


def _replicated(name: str, own: Numbers, agreed: Joint, bits: Bits) -> Steps[list[Held]]:
    """Everybody's columns as replicated shares: party i gets parts i and i + 1."""
    position = agreed.parties.index(name)
    stream = expand(bits.bytes(KEY), domain("product", _VERSION, "parts"), seeded=bits.seeded)
    parts = split(own, 3, stream)
    for step in (1, 2):
        receiver = (position + step) % 3
        arrays = {"own": parts[receiver], "following": parts[(receiver + 1) % 3]}
        yield Send("product/parts", arrays, agreed.parties[receiver])
    held: list[Held] = []
    for party, width in agreed.widths:
        if party == name:
            held.append(Held(parts[position], parts[(position + 1) % 3]))
            continue
        limit = Limit.array("<u8", (agreed.rows, width))
        told = yield Receive("product/parts", {"own": limit, "following": limit}, party)
        held.append(Held(told["own"], told["following"]))
    return held


def opened(share: Numbers, others: tuple[str, ...], modulus_bits: int = 64) -> Steps[Numbers]:
    """All parties' shares joined, for all of them. **Reveals** the exact result to everybody."""
    for party in others:
        yield Send("product/opened", {"share": share}, party)
    parts = [share]
    for party in others:
        told = yield Receive("product/opened", {"share": Limit.array("<u8", share.shape)}, party)
        parts.append(told["share"])
    return sum_of(parts) & np.uint64(2**modulus_bits - 1)
