"""Which table is counted where: at one holder, or between several, and from which of their configurations.

A family whose columns all lie with one holder is counted there. Of any other family every holder involved
makes one *piece*: the configuration of its own columns in that family, one code a row. Families that share a
piece share its masks, so each piece is masked once. Only the families of `Structure.measured` are counted:
the others are margins of these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.join.plan import JoinPlan
    from discreet.mechanisms.tables import TableLaw
    from discreet.protocols.draw import Draw
    from discreet.protocols.families import Families

__all__ = ["CLOSENESS", "MOST_CROSSING_CELLS", "Layout", "Piece"]

MOST_CROSSING_CELLS = 2**22
"""How many cells the tables that several holders count together may have."""

CLOSENESS = 64
"""Noise that parties draw is within 2**-64 of the exact law in total variation, all cells together."""

_MOST_BITS = 32


@dataclass(frozen=True)
class Piece:
    """A configuration of some columns of one holder, in the order in which the family names them."""

    holder: str
    columns: tuple[str, ...]


class Layout:
    """How the tables of one plan are counted. Follows from the plan alone."""

    def __init__(self, plan: JoinPlan) -> None:
        self.plan = plan
        self.structure = plan.network
        self._owner = {column: name for name in plan.holders for column in plan.columns_of(name)}
        if self.cells > MOST_CROSSING_CELLS:
            raise TooLargeError(
                "the tables that cross holders are too large",
                got=f"{self.cells:,} cells",
                wanted=f"at most {MOST_CROSSING_CELLS:,}",
                remedy="Give nodes fewer parents at other holders, or merge states.",
            )

    def pieces_of(self, node: str) -> tuple[Piece, ...]:
        """The pieces of a family: one a holder, in the order of their names."""
        family = self.structure.families[node]
        owners = sorted({self._owner[column] for column in family})
        return tuple(
            Piece(owner, tuple(column for column in family if self._owner[column] == owner))
            for owner in owners
        )

    @cached_property
    def local(self) -> dict[str, str]:
        """The measured families that lie at one holder, and who that is."""
        alone = {node: self.pieces_of(node) for node in self.structure.measured}
        return {node: pieces[0].holder for node, pieces in alone.items() if len(pieces) == 1}

    @cached_property
    def crossing(self) -> tuple[str, ...]:
        """The measured families whose columns lie with several holders."""
        return tuple(node for node in self.structure.measured if node not in self.local)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """All pieces of crossing families, each once."""
        return tuple(dict.fromkeys(piece for node in self.crossing for piece in self.pieces_of(node)))

    @cached_property
    def cells(self) -> int:
        """How many cells several holders count together."""
        return self.structure.cells(self.crossing)

    def local_of(self, holder: str) -> tuple[str, ...]:
        """The families that this holder counts alone."""
        return tuple(node for node, owner in self.local.items() if owner == holder)

    def size(self, piece: Piece) -> int:
        """How many configurations a piece has."""
        return math.prod(self.structure.card(column) for column in piece.columns)

    @cached_property
    def law(self) -> TableLaw | None:
        """The noise of a single holder's fit at this budget; None if counts are exact."""
        from discreet.mechanisms.tables import law

        release = self.plan.release
        if release.epsilon is None or release.delta is None:
            return None
        return law(len(self.structure.measured), release.epsilon, release.delta)

    @cached_property
    def workers(self) -> tuple[str, ...]:
        """Of route "three": the holders with the most to share, so that the least has to travel."""
        if self.plan.kind != "three":
            return ()
        load = dict.fromkeys(self.plan.holders, 0)
        for piece in self.pieces:
            load[piece.holder] += self.size(piece)
        return tuple(sorted(sorted(load, key=lambda name: (-load[name], name))[:3]))

    @cached_property
    def shareholders(self) -> tuple[str, ...]:
        """The holders who end with shares of crossing tables."""
        if not self.crossing:
            return ()
        return self.workers or self.plan.holders

    @cached_property
    def onlookers(self) -> tuple[str, ...]:
        """The parties without rows: analysts, and the helper."""
        return (*self.plan.analysts, *((self.plan.helper,) if self.plan.helper is not None else ()))

    @cached_property
    def keepers(self) -> tuple[str, ...]:
        """All who hold a part of what is opened of crossing tables: shares of counts, or of noise."""
        noisy = self.law is not None and bool(self.crossing)
        drawers = {self.draw(1).garbler, self.draw(1).evaluator} if noisy else set[str]()
        return tuple(sorted({*self.shareholders, *drawers}))

    def sharing(self, rows: int) -> Families:
        """The joint part as `discreet.protocols.families` runs it on so many rows."""
        from discreet.protocols.families import Families, Vector

        number = {piece: index for index, piece in enumerate(self.pieces)}
        return Families(
            rows=rows,
            holders=self.plan.holders,
            vectors=tuple(Vector(piece.holder, self.size(piece)) for piece in self.pieces),
            families=tuple(tuple(number[piece] for piece in self.pieces_of(node)) for node in self.crossing),
            route=self.plan.kind,
            workers=self.workers,
            helper=self.plan.helper or "helper",
            least_bits=self._room(rows),
        )

    def draw(self, rows: int) -> Draw:
        """The noise of crossing tables as `discreet.protocols.draw` draws it.

        The helper garbles, if there is one: it sees no result, and then no number of holders can take the
        noise off, short of all of them, who have every column. Otherwise a shareholder who does not receive
        garbles, as far as there is one.
        """
        plan = self.plan
        order = sorted(self.shareholders, key=lambda name: (name in plan.receivers, name))
        garbler, evaluator = (plan.helper, order[0]) if plan.helper else (order[0], order[1])
        return self._noise(self.sharing(rows).ring_bits, garbler, evaluator)

    def _noise(self, ring_bits: int, garbler: str, evaluator: str) -> Draw:
        from discreet.protocols.draw import Draw

        assert self.law is not None
        return Draw(self.cells, ring_bits, (self.law.sigma, CLOSENESS), garbler, evaluator)

    def _room(self, rows: int) -> int:
        """Bits in which a count and any noise that can be drawn have room."""
        if self.law is None:
            return 0
        bits = (rows + 2 * self._noise(1, "one", "other").largest + 1).bit_length()
        if bits > _MOST_BITS:
            raise ParameterError(
                "the noise is too large for the words that are sent",
                got=f"a deviation of {self.law.sigma:g}",
                wanted=f"rows and noise below 2**{_MOST_BITS}",
                remedy="Ask for a larger epsilon.",
            )
        return bits

    def codes_of(self, holder: str, codes: Mapping[str, NDArray[np.integer]]) -> list[NDArray[np.integer]]:
        """A holder's own pieces, one code a row, in the order of `pieces`."""
        from discreet.models.tally import configurations

        return [
            configurations(
                [codes[column] for column in piece.columns],
                tuple(self.structure.card(column) for column in piece.columns),
            )
            for piece in self.pieces
            if piece.holder == holder
        ]

    def split(self, flat: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """The cells of all crossing families in one row, as their tables."""
        return {node: self._turned(node, counts) for node, counts in self._cut(flat, self.crossing).items()}

    def split_local(self, flat: NDArray[np.int64], holder: str) -> dict[str, NDArray[np.int64]]:
        """The cells of a holder's own families in one row, as their tables."""
        cut = self._cut(flat, self.local_of(holder))
        return {node: counts.reshape(self.structure.shape(node)) for node, counts in cut.items()}

    def _turned(self, node: str, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts with the columns of one piece after the other, with the axes of the family instead."""
        columns = [column for piece in self.pieces_of(node) for column in piece.columns]
        shaped = counts.reshape(tuple(self.structure.card(column) for column in columns))
        return np.transpose(shaped, [columns.index(column) for column in self.structure.families[node]])

    def _cut(self, flat: NDArray[np.int64], nodes: tuple[str, ...]) -> dict[str, NDArray[np.int64]]:
        sizes = [math.prod(self.structure.shape(node)) for node in nodes]
        return dict(zip(nodes, np.split(flat, np.cumsum(sizes)[:-1]) if nodes else [], strict=True))
