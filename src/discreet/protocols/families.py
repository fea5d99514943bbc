"""Joint tables of counts: how many people are in each configuration of columns that different parties hold.

A *vector* is what one holder knows of a family of columns: for every row a code 0 ... size-1, its local
configuration. A *family* is two or more vectors of different holders; its table has one cell for each
combination of codes. At the end the holders have additive shares, modulo 2**ring_bits, of all tables.

    T[j1, ..., jk] = number of rows with code j1 in the first vector, ..., jk in the last

**Reuse.** A vector is masked, encrypted or shared once, however many families it is in. Only size - 1 of its
columns of zeros and ones travel: the last one follows, because columns of a row add up to one. **Smallest
ring.** Words on the wire have bit length(rows) + 1 bits, packed.

Routes, and whom they trust beside the party itself:
    "helper"      a helper deals masks and colludes with nobody (`discreet.protocols.dealing`)
    "transfer"    nobody; exactly two holders (`discreet.protocols.offering`)
    "lattice"     the same: fewer bytes and more work (`discreet.protocols.encrypting`)
    "three"       no two of three workers collude (`discreet.protocols.working`)

For products of numbers that are no states, see `discreet.protocols.product`.

**Reveals** rows, sizes and families, which all agree to, and nothing of the codes: what a party receives is
uniform, or encrypted. Whoever opens shares reveals exact counts: add noise first. **Trusts** that parties
follow the protocol: one who sends other words than it should changes tables unseen, but learns no more by it.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.errors import DataError, ParameterError, RangeError, TooLargeError
from discreet.protocols.step import domain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

    Tables = list[NDArray[np.uint64]]

__all__ = ["ROUTES", "Families", "Route", "Vector", "cheaper", "help_out", "hold"]

Route = Literal["helper", "transfer", "lattice", "three"]

ROUTES: tuple[Route, ...] = ("helper", "transfer", "lattice", "three")
"""The ways to count."""

_VERSION = 1
_MOST_ROWS = 2**31 - 1
_MOST_CELLS = 2**24
_CHUNK = 2**14
_CHUNK_WORDS = 2**21
_WORK = {"helper": 12e-9, "transfer": 7e-9, "three": 9e-9}
"""Seconds of the busiest party's work for every byte that all move, measured on one busy core."""


@dataclass(frozen=True)
class Vector:
    """A local configuration: one code 0 ... size-1 a row, held by one party."""

    holder: str
    size: int


@dataclass(frozen=True)
class Families:
    """What all agree to: rows, holders in order, their vectors, and the families as numbers of vectors.

    ``workers`` are the three of route "three", the holders themselves if there are three and none is named.
    ``least_bits`` makes the ring larger than counts need, for noise that is added to shares.
    Raises `ParameterError` if it makes no sense, `TooLargeError` if tables would have too many cells.
    """

    rows: int
    holders: tuple[str, ...]
    vectors: tuple[Vector, ...]
    families: tuple[tuple[int, ...], ...]
    route: Route
    workers: tuple[str, ...] = ()
    helper: str = "helper"
    least_bits: int = 0

    def __post_init__(self) -> None:
        if self.route == "three" and not self.workers and len(self.holders) == 3:
            object.__setattr__(self, "workers", self.holders)
        self._check_parties()
        self._check_tables()

    def _check_parties(self) -> None:
        if len(self.holders) < 2 or len(set(self.holders)) < len(self.holders):
            raise ParameterError("there are at least two holders, each once", got=self.holders)
        if self.route not in ROUTES:
            raise ParameterError("no such route", got=self.route, wanted=", ".join(ROUTES))
        if self.route in ("transfer", "lattice") and len(self.holders) != 2:
            raise ParameterError(
                "this route is for two holders", got=len(self.holders), wanted="2",
                remedy="Name a helper, or let three of the holders be workers.",
            )  # fmt: skip
        if self.route == "helper" and self.helper in self.holders:
            raise ParameterError("a helper holds no column", got=self.helper, wanted="another party")
        workers = self.workers
        if self.route == "three" and not (
            len(workers) == len(set(workers)) == 3 and set(workers) <= set(self.holders)
        ):
            raise ParameterError("three of the holders are workers", got=workers, wanted="three names")
        if self.route != "three" and workers:
            raise ParameterError("this route has no workers", got=self.route, wanted='"three"')

    def _check_tables(self) -> None:
        if not 1 <= self.rows <= _MOST_ROWS:
            raise ParameterError("rows are out of range", got=self.rows, wanted=f"1 to {_MOST_ROWS}")
        if not 0 <= self.least_bits <= 32:
            raise ParameterError("words have at most 32 bits", got=self.least_bits, wanted="0 to 32")
        for vector in self.vectors:
            if vector.holder not in self.holders or vector.size < 1:
                raise ParameterError("a vector has a holder and at least one code", got=vector)
        for family in self.families:
            if not all(0 <= index < len(self.vectors) for index in family):
                raise ParameterError("a family names a vector that is not there", got=family)
            parties = {self.vectors[index].holder for index in family}
            if not 2 <= len(family) == len(parties):
                raise ParameterError(
                    "a family has vectors of two or more holders, one of each", got=family,
                    remedy="Count local families at home; merge a holder's columns into one vector.",
                )  # fmt: skip
            cells = math.prod(self.shape(family))
            if cells > _MOST_CELLS:
                raise TooLargeError("a table has too many cells", got=cells, wanted=f"<= {_MOST_CELLS}")

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for a plan that all hash."""
        return {
            "rows": self.rows,
            "holders": list(self.holders),
            "vectors": [[vector.holder, vector.size] for vector in self.vectors],
            "families": [list(family) for family in self.families],
            "route": self.route,
            "workers": list(self.workers),
            "helper": self.helper,
            "least_bits": self.least_bits,
        }

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Families:
        """From plain data."""
        return Families(
            rows=plain["rows"],
            holders=tuple(plain["holders"]),
            vectors=tuple(Vector(holder, size) for holder, size in plain["vectors"]),
            families=tuple(tuple(family) for family in plain["families"]),
            route=plain["route"],
            workers=tuple(plain["workers"]),
            helper=plain["helper"],
            least_bits=plain["least_bits"],
        )

    @property
    def ring_bits(self) -> int:
        """Shares are modulo 2 to this power: one bit more than rows need, and ``least_bits``, for noise."""
        return max(self.rows.bit_length() + 1, self.least_bits)

    @property
    def shareholders(self) -> tuple[str, ...]:
        """Who has shares at the end. With a helper a holder's share of some tables may be all zeros."""
        return self.workers if self.route == "three" else self.holders

    def shape(self, family: Sequence[int]) -> tuple[int, ...]:
        """Of a family's table."""
        return tuple(self.vectors[index].size for index in family)

    def own(self, name: str) -> tuple[int, ...]:
        """The numbers of a holder's vectors."""
        return tuple(index for index, vector in enumerate(self.vectors) if vector.holder == name)

    @cached_property
    def chains(self) -> tuple[tuple[int, ...], ...]:
        """Every family in the order in which its vectors are multiplied: the smallest first."""
        return tuple(
            tuple(sorted(family, key=lambda index: (self.vectors[index].size, index)))
            for family in self.families
        )

    @cached_property
    def chunks(self) -> tuple[int, ...]:
        """Rows are worked through in pieces of these sizes, so that memory does not grow with them."""
        size = self._chunk
        return tuple(min(size, self.rows - start) for start in range(0, self.rows, size))

    @cached_property
    def sizes(self) -> dict[int, int]:
        """How many pieces of each size `chunks` has: what is reckoned from them need not walk through all."""
        whole, rest = divmod(self.rows, self._chunk)
        return {size: count for size, count in ((self._chunk, whole), (rest, 1)) if size and count}

    @cached_property
    def _chunk(self) -> int:
        words = _route(self.route).width(self)
        return max(64, min(_CHUNK, _CHUNK_WORDS // max(1, words) // 64 * 64))

    @cached_property
    def _digest(self) -> bytes:
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).digest()

    def label(self, *parts: object) -> str:
        """A label for derivations that no other use and no other plan has."""
        return domain("families", _VERSION, self._digest, *parts)

    def codes(self, name: str, codes: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """A holder's own codes, checked. Raises before anything is drawn or sent, and quotes no value."""
        own = self.own(name)
        if len(codes) != len(own):
            raise DataError("there are other vectors than agreed", got=len(codes), wanted=str(len(own)))
        for index, column in zip(own, codes, strict=True):
            if column.shape != (self.rows,) or column.dtype.kind not in "iu":
                raise DataError(
                    "codes are not as agreed", got=f"{column.dtype} {column.shape}",
                    wanted=f"integers ({self.rows},)",
                )  # fmt: skip
            if int(column.min()) < 0 or int(column.max()) >= self.vectors[index].size:
                raise RangeError(
                    "a code is not among those agreed", wanted=f"0 to {self.vectors[index].size - 1}"
                )
        return list(codes)

    def bytes(self) -> dict[tuple[str, str], int]:
        """Bytes of content by (sender, receiver), exactly; frames add some 50 for every message and MiB."""
        return _route(self.route).payload(self)

    def rounds(self) -> int:
        """How many messages follow one another, each waiting for the last: times the delay of the line."""
        return _route(self.route).rounds(self)

    def seconds(self, line: float = 1e9, delay: float = 0.001) -> float:
        """About how long it takes over lines of so many bits a second, with so many seconds one way.

        Work is reckoned from bytes, at what was measured for ALARM (`benchmarks/families.py`); over the
        lattice from columns and cells.
        """
        moved = self.bytes()
        slowest = max(moved.values(), default=0)
        if self.route == "lattice":
            from discreet.protocols.encrypting import work

            worked = work(self)
        else:
            worked = _WORK[self.route] * sum(moved.values())
        return worked + 8 * slowest / line + delay * self.rounds()


def hold(name: str, codes: Sequence[NDArray[Any]], agreed: Families, bits: Bits) -> Steps[Tables | None]:
    """A holder's role: its own vectors' codes, in order; returns its shares of all tables, or None.

    A holder that is no shareholder (`Families.shareholders`) returns None.
    """
    if name not in agreed.holders:
        raise ParameterError("not a holder", got=name, wanted=str(agreed.holders))
    own = dict(zip(agreed.own(name), agreed.codes(name, codes), strict=True))
    tables = yield from _route(agreed.route).hold(name, own, agreed, bits)
    if tables is None:
        return None
    mask = np.uint64(2**agreed.ring_bits - 1)
    return [
        table.transpose([chain.index(index) for index in family]) & mask
        for table, chain, family in zip(tables, agreed.chains, agreed.families, strict=True)
    ]


def help_out(agreed: Families, bits: Bits) -> Steps[None]:
    """The helper's role: it deals masks and what belongs to them, and receives nothing at all."""
    if agreed.route != "helper":
        raise ParameterError("this route has no helper", got=agreed.route, wanted='"helper"')
    from discreet.protocols.dealing import deal

    yield from deal(agreed, bits)


def cheaper(agreed: Families, line: float = 1e9, delay: float = 0.001) -> Families:
    """The same between two holders alone, by transfers or over a lattice: whichever takes less time."""
    ways = [replace(agreed, route=route, workers=()) for route in ("transfer", "lattice")]
    return min(ways, key=lambda way: way.seconds(line, delay))


def _route(route: Route) -> Any:
    """The module of a route: ``hold``, ``width``, ``payload`` and ``rounds``."""
    from importlib import import_module

    names = {"helper": "dealing", "transfer": "offering", "lattice": "encrypting", "three": "working"}
    return import_module(f"discreet.protocols.{names[route]}")
