"""Public tables in circuits: a secret index goes in, the entry comes out, and only decoding costs.

An index of m bits becomes 2**m lines of which one is on: 2**m - 2 AND gates, for any number of tables. An
output bit is then the exclusive or of the lines whose entry has that bit. XOR is free on the wire but takes
time, so lines go together in fours, whose fifteen sums all output bits share (the method of the four
Russians): about a fourth of the XOR gates that are needed one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.crypto.circuit import ONE
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.crypto.circuit import Bit, Builder, Word

__all__ = ["decode", "look_up"]

_TOGETHER = 4


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
    sums = [_subsets(build, lines[at : at + _TOGETHER]) for at in range(0, len(lines), _TOGETHER)]
    return [
        build.sum([part[_held(table, at, place)] for at, part in enumerate(sums)]) for place in range(width)
    ]


def _held(table: Sequence[int], group: int, place: int) -> int:
    """Which lines of a group have this bit in their entries, as a number."""
    entries = table[group * _TOGETHER : (group + 1) * _TOGETHER]
    return sum((entry >> place & 1) << at for at, entry in enumerate(entries))


def _subsets(build: Builder, lines: Sequence[Bit]) -> list[Bit]:
    """The sum of every subset of a few lines; subsets are numbered by their bits."""
    sums: list[Bit] = [build.sum([])]
    for line in lines:
        sums += [build.xor(before, line) for before in sums]
    return sums
