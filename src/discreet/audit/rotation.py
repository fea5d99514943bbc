"""A published way to count columns of two sites by a random rotation, and the programs that read the rows.

It is here to be broken, under a name that says so: nothing in `join` uses it. It is from Meng, Sivakumar and
Kargupta, "Privacy-Sensitive Bayesian Network Parameter Learning" (ICDM 2004), sections 3.1 and 3.2.

**The protocol.** Columns are vectors of +1 and -1. Two sites agree on an orthogonal matrix R, and hand
products of their columns, rotated by R, to a third party, who finds inner products: (R u)'(R v) = u'v. The
*pseudo inner product* of a set of columns is the sum over rows of their product; those of all subsets of a
family give its counts by the linear system of signs,
    counts[c] = 2^-n  sum over subsets S of  pip(S) * product over i in S of sign(c_i).
The counts are right. "There are infinitely many solutions U to U1 = R U if R is unknown" is the whole
argument for privacy, and it is about the wrong question:

* **Who knows R** inverts it. Between two parties the recipient must know R, to rotate columns of its own; and
  a third party knows it as soon as one site tells (`undo`).
* **Who does not know R** still has every inner product of everything it was sent, within a site too: counts
  of all pairs of columns, also those that no family needs, without noise (`pair_tables`). A count of one is a
  person (`singled_out`).
* **Who sees R used twice**, on columns of which one row changed in between, has that row of R': its inner
  product with every rotated column is that person's bit (`read_person`).
* **The fast rotation** H D P, a Hadamard matrix with random signs and a random order, is undone up to signs
  and order by applying H, which is public: the third party reads all rows of both sites (`unspin`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.protocols.step import Limit, Receive, Send, domain
from discreet.randomness import expand, generator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

    Numbers = NDArray[np.float64]

__all__ = [
    "Handover",
    "be_first",
    "be_second",
    "be_third",
    "counts_of",
    "pair_tables",
    "random_rotation",
    "read_person",
    "rotation_of",
    "singled_out",
    "spin",
    "subset_products",
    "undo",
    "unspin",
]

_KEY = 16
_MOST_ROWS = 4096

Subset = tuple[int, ...]


@dataclass(frozen=True)
class Handover:
    """What is agreed: rows, and for each family the numbers of its columns at the first and second site."""

    rows: int
    families: tuple[tuple[Subset, Subset], ...]

    def __post_init__(self) -> None:
        if not 2 <= self.rows <= _MOST_ROWS:
            raise ParameterError(
                "a dense rotation has rows x rows entries", got=self.rows, wanted=f"2 to {_MOST_ROWS} rows"
            )

    def sent(self, site: int) -> tuple[Subset, ...]:
        """Whose products a site sends: all subsets of its parts of families, each once, in order."""
        needed = {subset for family in self.families for subset in _subsets(family[site])}
        return tuple(sorted(needed, key=lambda subset: (len(subset), subset)))

    def pips(self, products: Numbers, family: tuple[Subset, Subset]) -> Numbers:
        """The pseudo inner products of a family's subsets: an axis of two for every column."""
        one, two = ([self.sent(site).index(subset) for subset in _subsets(family[site])] for site in (0, 1))
        return products[np.ix_(one, two)].reshape((2,) * (len(family[0]) + len(family[1])))


def random_rotation(rows: int, bits: Bits) -> Numbers:
    """A uniform orthogonal matrix: Gaussian entries, orthogonalised."""
    rotation, upper = np.linalg.qr(generator(bits).standard_normal((rows, rows)))
    return rotation * np.sign(np.diag(upper))


@lru_cache(maxsize=1)
def rotation_of(rows: int, key: bytes) -> Numbers:
    """The matrix that sites mean by a key. Some rows**3 steps: kept for the next who asks."""
    return random_rotation(rows, expand(key, domain("published rotation", 1)))


def subset_products(columns: Numbers, subsets: Sequence[Subset]) -> Numbers:
    """The product of each set of columns, row for row; of no column it is one."""
    return np.stack([columns[:, list(subset)].prod(axis=1) for subset in subsets], axis=1)


def be_first(columns: Numbers, agreed: Handover, bits: Bits) -> Steps[None]:
    """The first site: chooses R, tells the second site and not the third party, and hands over."""
    key = bits.bytes(_KEY)
    yield Send("rotation/key", {"key": key}, "second")
    yield Send("rotation/columns", {"columns": _rotated(columns, agreed, 0, key)}, "third")


def be_second(columns: Numbers, agreed: Handover) -> Steps[None]:
    """The second site."""
    told = yield Receive("rotation/key", {"key": Limit.raw(_KEY)}, "first")
    rotated = _rotated(columns, agreed, 1, bytes(told["key"]))
    yield Send("rotation/columns", {"columns": rotated}, "third")


def be_third(agreed: Handover) -> Steps[Numbers]:
    """The third party. Returns the inner products that it is meant to have, sent(0) by sent(1)."""
    seen: list[Numbers] = []
    for site, name in enumerate(("first", "second")):
        limit = Limit.array("<f8", (agreed.rows, len(agreed.sent(site))))
        seen.append((yield Receive("rotation/columns", {"columns": limit}, name))["columns"])
    return seen[0].T @ seen[1]


def counts_of(pips: Numbers) -> NDArray[np.int64]:
    """The counts behind the pseudo inner products of all subsets: the solution of the system of signs.

    One axis of two a column; on the way in 1 means that the column is in the subset, on the way out that it
    is -1. The system is a Kronecker power of [[1, 1], [1, -1]], so it is solved axis by axis.
    """
    signs = np.array([[1.0, 1.0], [1.0, -1.0]]) / 2
    for axis in range(pips.ndim):
        pips = np.moveaxis(np.tensordot(signs, pips, axes=(1, axis)), 0, axis)
    return np.rint(pips).astype(np.int64)


def undo(rotation: Numbers, seen: Numbers) -> NDArray[np.int64]:
    """The columns themselves, by who knows the rotation."""
    return np.rint(rotation.T @ seen).astype(np.int64)


def pair_tables(seen: Numbers, ones: int, columns: Sequence[int]) -> NDArray[np.int64]:
    """For every two of the columns (their places in what was seen) the counts of their four combinations.

    ``ones`` is the place of the empty product. From the Gram matrix alone: whoever has this needs no R.
    """
    gram = seen.T @ seen
    alone = gram[ones, list(columns)]
    pips = np.empty((len(columns), len(columns), 2, 2))
    pips[..., 0, 0] = gram[ones, ones]
    pips[..., 1, 0], pips[..., 0, 1] = alone[:, None], alone[None, :]
    pips[..., 1, 1] = gram[np.ix_(columns, columns)]
    return np.array([[counts_of(pair) for pair in row] for row in pips])


def singled_out(tables: NDArray[np.int64]) -> list[tuple[int, int, int, int]]:
    """Which (column, state, other column, other state) holds for exactly one person."""
    found = np.argwhere(tables == 1)
    return [(int(i), int(a), int(j), int(b)) for i, j, a, b in found if i < j]


def read_person(before: Numbers, after: Numbers, seen: Numbers, ones: int) -> NDArray[np.int64]:
    """The row of the one person whose bit changed between two rotations of a column: in every column seen.

    The difference is plus or minus twice R e for that person's unit vector e, and (R e)'(R v) = v[person].
    """
    along = (after - before) @ seen / 2
    return np.rint(along * np.sign(along[ones])).astype(np.int64)


def spin(columns: Numbers, bits: Bits) -> Numbers:
    """The fast rotation: a random order, random signs, then the public Hadamard matrix; zeros fill it up."""
    draw = generator(bits)
    places = 1 << max(1, (len(columns) - 1).bit_length())
    padded = np.zeros((places, columns.shape[1]))
    padded[: len(columns)] = columns
    signs = np.where(draw.random(places) < 0.5, -1.0, 1.0)
    return _hadamard(signs[:, None] * padded[draw.permutation(places)])


def unspin(seen: Numbers, ones: int) -> NDArray[np.int64]:
    """All rows of what was spun together, in another order: H again, and the signs divided away."""
    rows = np.rint(_hadamard(seen)).astype(np.int64)
    there = rows[:, ones] != 0
    return rows[there] * rows[there][:, [ones]]


def _rotated(columns: Numbers, agreed: Handover, site: int, key: bytes) -> Numbers:
    return rotation_of(agreed.rows, key) @ subset_products(columns, agreed.sent(site))


def _hadamard(columns: Numbers) -> Numbers:
    """H times columns, H symmetric and orthogonal."""
    places, half = len(columns), 1
    while half < places:
        pairs = columns.reshape(places // (2 * half), 2, half, -1)
        columns = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
        half *= 2
    return columns.reshape(places, -1) / np.sqrt(places)


def _subsets(columns: Subset) -> list[Subset]:
    """All subsets, numbered by their members as bits, the first member highest."""
    last = len(columns) - 1
    return [
        tuple(sorted(column for at, column in enumerate(columns) if number >> (last - at) & 1))
        for number in range(2 ** len(columns))
    ]
