"""ASIA as in Meng, Sivakumar and Kargupta (ICDM 2004): not that of `asia.bif`, whose node E is a plain OR.

The tables of E and D are printed in that paper; the others are from memory of its sibling (Chen, Sivakumar
and Kargupta, KAIS 2004).
"""

from __future__ import annotations

import numpy as np

from discreet.models.network import Network
from discreet.models.structure import Structure

__all__ = ["SITES", "paper_asia"]

SITES = {"north": ("A", "T", "E", "X", "D"), "south": ("S", "L", "B")}
"""Who holds which column in the paper."""

_PARENTS = {"T": ("A",), "L": ("S",), "B": ("S",), "E": ("T", "L"), "X": ("E",), "D": ("E", "B")}
_FIRST = {
    "A": [0.99],
    "S": [0.5],
    "T": [0.1, 0.05],
    "L": [0.3, 0.6],
    "B": [0.1, 0.8],
    "E": [0.9, 0.1, 0.1, 0.01],
    "X": [0.2, 0.6],
    "D": [0.9, 0.2, 0.8, 0.9],
}  # the probability of the first state, configurations of parents in order 11, 12, 21, 22


def paper_asia() -> Network:
    """The network, with states "1" and "2"."""
    structure = Structure(dict.fromkeys(_FIRST, ("1", "2")), _PARENTS)
    tables = {
        node: np.stack([np.array(first), 1 - np.array(first)], axis=-1).reshape(structure.shape(node))
        for node, first in _FIRST.items()
    }
    return Network(structure, tables)
