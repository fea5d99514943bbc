"""Public tables in circuits: a secret index goes in, the entry comes out, and only decoding costs.

An index of m bits becomes 2**m lines of which one is on: 2**m - 2 AND gates, for any number of tables. An
output bit is then the exclusive or of the lines whose entry has that bit, which is free on the wire. It takes
time, so all output bits add their lines in one tree, where every line has its place: sums that occur in
several are made once by the builder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.crypto.circuit import ONE, ZERO
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.crypto.circuit import Bit, Builder, Word

__all__ = ["decode", "look_up"]


def decode(build: Builder, index: Word) -> list[Bit]:
    """The lines of an index: line i is 1 where the index is i. 2**m - 2 AND gates for m bits."""
    lines: list[Bit] = [ONE]
    for bit in index:
        upper = [build.both(line, bit) for line in lines]
        lower = [build.xor(line, on) for line, on in zip(lines, upper, strict=True)]
        lines = lower + upper
    return lines


def look_up(build: Builder, lines: Sequence[Bit], table: Sequence[int], width: int) -> Word:
    """The entry of a public table, of so many bits, on whose line the index lies. No AND gate."""
    if len(table) != len(lines) or min(table) < 0 or max(table) >> width:
        raise ParameterError("a table does not fit its lines", got=(len(table), len(lines), width))
    return [
        build.sum([line if entry >> place & 1 else ZERO for line, entry in zip(lines, table, strict=True)])
        for place in range(width)
    ]
