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

from discreet.errors import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.join.plan import JoinPlan
    from discreet.protocols.families import Families

__all__ = ["MOST_CROSSING_CELLS", "Layout", "Piece"]

MOST_CROSSING_CELLS = 2**22
"""How many cells the tables that several holders count together may have."""


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
        cells = self.structure.cells(self.crossing)
        if cells > MOST_CROSSING_CELLS:
            raise TooLargeError(
                "the tables that cross holders are too large",
                got=f"{cells:,} cells",
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

    def local_of(self, holder: str) -> tuple[str, ...]:
        """The families that this holder counts alone."""
        return tuple(node for node, owner in self.local.items() if owner == holder)

    def size(self, piece: Piece) -> int:
        """How many configurations a piece has."""
        return math.prod(self.structure.card(column) for column in piece.columns)

    def crossing_cells(self) -> int:
        """How many cells several holders count together."""
        return self.structure.cells(self.crossing)

    def sharing(self, rows: int, bits: int) -> Families:
        """The joint part as `discreet.protocols.families` runs it on so many rows, in a ring of such size."""
        from discreet.protocols.families import Families, Vector

        number = {piece: index for index, piece in enumerate(self.pieces)}
        return Families(
            rows=rows,
            holders=self.plan.holders,
            vectors=tuple(Vector(piece.holder, self.size(piece)) for piece in self.pieces),
            families=tuple(tuple(number[piece] for piece in self.pieces_of(node)) for node in self.crossing),
            route=self.plan.kind,
            helper=self.plan.helper or "helper",
        )

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

    def table(self, node: str, counts: NDArray[np.integer]) -> NDArray[np.integer]:
        """Counts with one axis a piece, as the table of the family: one axis a column, in its order."""
        columns = [column for piece in self.pieces_of(node) for column in piece.columns]
        shaped = counts.reshape(tuple(self.structure.card(column) for column in columns))
        return np.transpose(shaped, [columns.index(column) for column in self.structure.families[node]])

    def split(self, flat: NDArray[np.integer]) -> dict[str, NDArray[np.integer]]:
        """The cells of all crossing families in one row, as their tables."""
        return self._cut(flat, self.crossing, ordered=False)

    def split_local(self, flat: NDArray[np.integer], holder: str) -> dict[str, NDArray[np.integer]]:
        """The cells of a holder's own families in one row, as their tables."""
        return self._cut(flat, self.local_of(holder), ordered=True)

    def _cut(
        self, flat: NDArray[np.integer], nodes: Sequence[str], *, ordered: bool
    ) -> dict[str, NDArray[np.integer]]:
        tables: dict[str, NDArray[np.integer]] = {}
        start = 0
        for node in nodes:
            size = math.prod(self.structure.shape(node))
            counts = flat[start : start + size]
            tables[node] = counts.reshape(self.structure.shape(node)) if ordered else self.table(node, counts)
            start += size
        return tables
