"""Tables of counts between two holders alone, over a lattice (`discreet.protocols.families`, "lattice").

The holder of a leading vector (`discreet.protocols.cover`) encrypts its free columns of zeros and ones, once
for all partners; the other multiplies them with the columns of all vectors that share a family with it, and
both end with shares of the sums. It is `discreet.protocols.scores` for pieces of 2**18 rows: one job
for each leading column; the partners' columns are transformed once for all of a vector.

**Reveals** nothing but sizes, as `discreet.protocols.scores` says; what the holder that encrypts could learn
of the other's columns is at most 2**-40 in statistical distance for a whole run (`jobs`).
**Trusts** nobody but that both follow the protocol: tables are exact, so a holder that encrypts fractions
could read bits of the other's rows (`discreet.crypto.setting`). **Costs** 12 or 15 bytes for every row and
column that leads, 100 kB for its key, and 41 kB for each cell, in every piece. For a million rows it moves
two fifths of what transfers do, and works twice as long: it is for slow lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.layout import Matrix
from discreet.crypto.onehot import columns
from discreet.crypto.setting import Setting
from discreet.protocols.cover import Cover
from discreet.protocols.scores import Scores, ask, prepared, score

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from discreet.crypto.lattice import Table
    from discreet.protocols.families import Families, Tables
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

    Sums = NDArray[np.uint64]

__all__ = ["Job", "hold", "jobs", "payload", "rounds", "width", "work"]

_PIECE = 2**18

# Seconds, measured at N = 8192: a row of a leading column, a partner's, a cell; and an answer of one cell.
_COLUMN, _PARTNER, _CELL, _ANSWER = 2.3e-7, 8.5e-8, 7.3e-9, 3e-3


def hold(name: str, own: Mapping[int, NDArray[Any]], agreed: Families, bits: Bits) -> Steps[Tables]:
    """A holder's role; tables are in the order of `Families.chains`."""
    cover = Cover(agreed)
    (other,) = (holder for holder in agreed.holders if holder != name)
    mine, theirs = _leading(cover, name), _leading(cover, other)
    sums = {
        index: np.zeros((cover.hanging(index), cover.free(index)), dtype=np.uint64)
        for index, _ in (*mine, *theirs)
    }
    for here in _pieces(agreed):
        partners = _Partners(here, own, cover)
        for turn in range(max(len(mine), len(theirs))):
            asking = _ask(mine[turn], here, own, cover, bits) if turn < len(mine) else None
            scoring = partners.score(theirs[turn], bits) if turn < len(theirs) else None
            parts = yield from _both(asking, scoring)
            for leading, part in zip((mine, theirs), parts, strict=True):
                if part is not None:
                    index, column = leading[turn]
                    sums[index][:, column] += part.ravel()
    return cover.tables(own, sums)


def _leading(cover: Cover, name: str) -> list[tuple[int, int]]:
    """The columns that a holder encrypts, each by vector and number."""
    return [(index, column) for index in cover.chosen(name) for column in range(cover.free(index))]


def _ask(
    leading: tuple[int, int], here: slice, own: Mapping[int, NDArray[Any]], cover: Cover, bits: Bits
) -> Steps[NDArray[np.uint64]]:
    """Encrypt a leading column; shares of its sums with all partners."""
    index, column = leading
    features = (own[index][here] == column).astype(np.int64)
    return ask(features[None], _job(cover, index, len(features)), bits)


class _Partners:
    """One's own columns, ready to meet the leading columns of one vector after the other."""

    def __init__(self, here: slice, own: Mapping[int, NDArray[Any]], cover: Cover) -> None:
        self._here, self._own, self._cover = here, own, cover
        self._table: tuple[int, Table] | None = None

    def score(self, leading: tuple[int, int], bits: Bits) -> Steps[NDArray[np.uint64]]:
        """Meet a leading column with all partners of its vector."""
        index, cover = leading[0], self._cover
        job = _job(cover, index, self._here.stop - self._here.start)
        if self._table is None or self._table[0] != index:
            tables = [
                columns(self._own[other][self._here], cover.free(other) + 1)[:-1]
                for other in cover.partners[index]
            ]
            self._table = index, prepared(np.concatenate(tables).T.astype(np.int64), job)
        return score(self._table[1], job, bits)


def _both(
    asking: Steps[NDArray[np.uint64]] | None, scoring: Steps[NDArray[np.uint64]] | None
) -> Steps[tuple[Sums | None, Sums | None]]:
    """Ask, answer the other's question meanwhile, and take the answer: what is asked, what is scored."""
    wish = asked = scored = None
    if asking is not None:
        yield next(asking)
        wish = next(asking)
    if scoring is not None:
        scored = yield from scoring
    if asking is not None and wish is not None:
        told = yield wish
        try:
            asking.send(told)
        except StopIteration as end:
            asked = end.value
    return asked, scored


@dataclass(frozen=True)
class Job(Scores):
    """One of several jobs whose statistical distances are to add up to 2**-40 at most."""

    among: int = 1

    @cached_property
    def setting(self) -> Setting:
        """The lattice's sizes, as if all that the jobs open were opened in this one."""
        weight, opened = self.layout.weight(self.heaviest), self.layout.opened * self.among
        return Setting(self.share_bits, weight, opened, self.layout.degree)


def _job(cover: Cover, index: int, rows: int) -> Job:
    leading = sum(len(_leading(cover, name)) for name in cover.agreed.holders)
    among = leading * _turns(cover.agreed)
    return Job(Matrix(1, rows, cover.hanging(index)), 1, 1, cover.bits, among=among)


def _pieces(agreed: Families) -> Iterator[slice]:
    for start in range(0, agreed.rows, _PIECE):
        yield slice(start, min(agreed.rows, start + _PIECE))


def _turns(agreed: Families) -> int:
    """How many pieces there are."""
    return -(-agreed.rows // _PIECE)


def jobs(agreed: Families) -> list[tuple[str, Job]]:
    """All jobs in order: who encrypts, and the sizes. The distances of all together are below 2**-40."""
    cover = Cover(agreed)
    return [
        (name, _job(cover, index, here.stop - here.start))
        for here in _pieces(agreed)
        for name in agreed.holders
        for index, _ in _leading(cover, name)
    ]


def work(agreed: Families) -> float:
    """About how many seconds both work: by rows of leading columns, of their partners, and of cells."""
    cover = Cover(agreed)
    leading = [(cover.free(index), cover.hanging(index)) for index in cover.partners]
    columns, hanging = sum(free for free, _ in leading), sum(words for _, words in leading)
    cells = sum(free * words for free, words in leading)
    each = _COLUMN * columns + _PARTNER * hanging + _CELL * cells
    return agreed.rows * each + _ANSWER * cells * _turns(agreed)


def width(agreed: Families) -> int:
    """Words of the largest message, for one row; pieces of rows are the route's own."""
    del agreed
    return 0


def payload(agreed: Families) -> dict[tuple[str, str], int]:
    """Bytes of content by sender and receiver."""
    total, cover = dict[tuple[str, str], int](), Cover(agreed)
    first, second = agreed.holders
    whole, rest = divmod(agreed.rows, _PIECE)
    for rows, times in ((_PIECE, whole), (rest, 1)):
        for name in agreed.holders if rows and times else ():
            other = second if name == first else first
            for index in cover.chosen(name):
                job, each = _job(cover, index, rows), times * cover.free(index)
                for way, limits in (((name, other), job.query), ((other, name), job.answer)):
                    total[way] = total.get(way, 0) + each * sum(limit.most for limit in limits.values())
    return total


def rounds(agreed: Families) -> int:
    """Two for every turn of questions, both ways at once."""
    cover = Cover(agreed)
    turns = max(len(_leading(cover, name)) for name in agreed.holders)
    return 2 * turns * _turns(agreed)
