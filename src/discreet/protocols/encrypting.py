"""Tables of counts between two holders alone, over a lattice (`discreet.protocols.families`, "lattice").

The holder of a leading vector (`discreet.protocols.cover`) encrypts its free columns of zeros and ones, once
for all partners; the other multiplies them with the columns of all vectors that share a family with it, and
both end with shares of the sums. It is `discreet.protocols.scores` for pieces of 2**18 rows: features are the
leading columns, weights the partners'.

**Reveals** nothing but sizes, as `discreet.protocols.scores` says; what the holder that encrypts could learn
of the other's columns is at most 2**-40 in statistical distance for every job, and jobs add up (`jobs`).
**Trusts** nobody but that both follow the protocol. **Costs** 12 to 16 bytes for every row and column that
leads, and 41 kB for each cell and piece: less than transfers from some ten thousand rows on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.layout import Matrix
from discreet.crypto.onehot import columns
from discreet.protocols.cover import Cover
from discreet.protocols.scores import Scores, ask, score

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from discreet.protocols.families import Families, Tables
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

    Sums = NDArray[np.uint64]

__all__ = ["hold", "jobs", "payload", "rounds", "width"]

_PIECE = 2**18


def hold(name: str, own: Mapping[int, NDArray[Any]], agreed: Families, bits: Bits) -> Steps[Tables]:
    """A holder's role; tables are in the order of `Families.chains`."""
    cover = Cover(agreed)
    (other,) = (holder for holder in agreed.holders if holder != name)
    sums: dict[int, Sums] = {}
    for here in _pieces(agreed):
        mine, theirs = cover.chosen(name), cover.chosen(other)
        for turn in range(max(len(mine), len(theirs))):
            asking = _ask(mine[turn], here, own, cover, bits) if turn < len(mine) else None
            scoring = _score(theirs[turn], here, own, cover, bits) if turn < len(theirs) else None
            asked, scored = yield from _both(asking, scoring)
            for index, part in ((mine, asked), (theirs, scored)):
                if part is not None:
                    sums[index[turn]] = sums[index[turn]] + part if index[turn] in sums else part
    return cover.tables(own, sums)


def _ask(
    index: int, here: slice, own: Mapping[int, NDArray[Any]], cover: Cover, bits: Bits
) -> Steps[NDArray[np.uint64]]:
    """Encrypt a leading vector; shares of its sums with all partners, (free, hanging)."""
    codes = own[index][here]
    features = columns(codes, cover.free(index) + 1)[:-1].astype(np.int64)
    return ask(features, _job(cover, index, len(codes)), bits)


def _score(
    index: int, here: slice, own: Mapping[int, NDArray[Any]], cover: Cover, bits: Bits
) -> Steps[NDArray[np.uint64]]:
    """Meet the other's leading vector with all partners."""
    tables = [columns(own[other][here], cover.free(other) + 1)[:-1] for other in cover.partners[index]]
    weights = np.concatenate(tables).T.astype(np.int64)
    return score(weights, _job(cover, index, len(weights)), bits)


def _both(
    asking: Steps[NDArray[np.uint64]] | None, scoring: Steps[NDArray[np.uint64]] | None
) -> Steps[tuple[Sums | None, Sums | None]]:
    """Ask, answer the other's question meanwhile, and take the answer: (hanging, free) each."""
    wish = asked = scored = None
    if asking is not None:
        yield next(asking)
        wish = next(asking)
    if scoring is not None:
        scored = (yield from scoring).T
    if asking is not None and wish is not None:
        told = yield wish
        try:
            asking.send(told)
        except StopIteration as end:
            asked = end.value.T
    return asked, scored


def _job(cover: Cover, index: int, rows: int) -> Scores:
    layout = Matrix(cover.free(index), rows, cover.hanging(index))
    return Scores(layout, 1, 1, cover.bits)


def _pieces(agreed: Families) -> Iterator[slice]:
    for start in range(0, agreed.rows, _PIECE):
        yield slice(start, min(agreed.rows, start + _PIECE))


def jobs(agreed: Families) -> list[tuple[str, Scores]]:
    """All jobs in order: who encrypts, and the sizes. The distances of a party's jobs add up."""
    cover = Cover(agreed)
    return [
        (name, _job(cover, index, here.stop - here.start))
        for here in _pieces(agreed)
        for name in agreed.holders
        for index in cover.chosen(name)
    ]


def width(agreed: Families) -> int:
    """Words of the largest message, for one row; pieces of rows are the route's own."""
    del agreed
    return 0


def payload(agreed: Families) -> dict[tuple[str, str], int]:
    """Bytes of content by sender and receiver."""
    total = dict[tuple[str, str], int]()
    first, second = agreed.holders
    for name, job in jobs(agreed):
        other = second if name == first else first
        for way, limits in (((name, other), job.query), ((other, name), job.answer)):
            total[way] = total.get(way, 0) + sum(limit.most for limit in limits.values())
    return total


def rounds(agreed: Families) -> int:
    """Two for every turn of questions, both ways at once."""
    cover = Cover(agreed)
    turns = max(len(cover.chosen(name)) for name in agreed.holders)
    return 2 * turns * len(list(_pieces(agreed)))
