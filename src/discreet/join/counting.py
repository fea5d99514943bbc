"""How crossing families are counted: additive shares of their tables, by the route of the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.protocols.product import Joint, help_out, join_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.join.layout import Layout
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

__all__ = ["BITS", "count", "help_count"]

BITS = 64


def count(
    name: str, codes: Mapping[str, NDArray[np.integer]], layout: Layout, rows: int, bits: Bits
) -> Steps[NDArray[np.uint64] | None]:
    """A holder's part: its share of all crossing tables in one row, or None if it ends without shares."""
    del bits
    own = dict(
        zip(
            [piece for piece in layout.pieces if piece.holder == name],
            layout.codes_of(name, codes),
            strict=True,
        )
    )
    shares: list[NDArray[np.uint64]] = []
    for node in layout.crossing:
        pieces = layout.pieces_of(node)
        mine = next((piece for piece in pieces if piece.holder == name), None)
        if mine is None:
            shares.append(np.zeros(sum(1 for _ in range(layout.structure.cells([node]))), dtype=np.uint64))
            continue
        hot = np.zeros((rows, layout.size(mine)), dtype=np.int64)
        hot[np.arange(rows), own[mine]] = 1
        shares.append((yield from join_in(name, hot, _joint(layout, node, rows))).ravel())
    return np.concatenate(shares)


def help_count(layout: Layout, rows: int, bits: Bits) -> Steps[None]:
    """The helper's part."""
    for node in layout.crossing:
        yield from help_out(_joint(layout, node, rows), bits)


def shareholders(layout: Layout) -> tuple[str, ...]:
    """Who has shares at the end."""
    return layout.plan.holders


def _joint(layout: Layout, node: str, rows: int) -> Joint:
    if layout.plan.kind != "helper":
        raise ParameterError("this route is not built yet", got=layout.plan.kind, wanted="helper")
    return Joint(rows, tuple((piece.holder, layout.size(piece)) for piece in layout.pieces_of(node)))
