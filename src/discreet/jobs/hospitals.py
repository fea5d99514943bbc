"""Simulated hospitals that hold different columns of the same patients, and a plan to join them.

The patients are drawn from ASIA, the network of Lauritzen and Spiegelhalter (1988): nobody is real. Each
hospital also has patients that the others do not know, and every file has its rows in an order of its own.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.models.network import Network, Structure
from discreet.randomness import generator, seeded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["ID", "asia", "simulate_hospitals", "sites", "write_hospitals"]

ID = "patient"
"""The column by which hospitals know their patients."""

_SITES = {
    2: {
        "north": ("asia", "tub", "either", "xray", "dysp"),
        "south": ("smoke", "lung", "bronc"),
    },
    3: {
        "north": ("asia", "tub", "xray"),
        "south": ("smoke", "lung", "bronc"),
        "east": ("either", "dysp"),
    },
}
_ALONE = 0.1
_LARGEST = 10**6


def asia() -> Network:
    """ASIA, with the probabilities that its authors made up."""
    parents = {
        "tub": ("asia",),
        "lung": ("smoke",),
        "bronc": ("smoke",),
        "either": ("lung", "tub"),
        "xray": ("either",),
        "dysp": ("bronc", "either"),
    }
    yes = {
        "asia": 0.01,
        "tub": [0.05, 0.01],
        "smoke": 0.5,
        "lung": [0.1, 0.01],
        "bronc": [0.6, 0.3],
        "either": [[1.0, 1.0], [1.0, 0.0]],
        "xray": [0.98, 0.05],
        "dysp": [[0.9, 0.8], [0.7, 0.1]],
    }
    tables = {node: np.stack([np.asarray(p), 1.0 - np.asarray(p)], axis=-1) for node, p in yes.items()}
    return Network(Structure(dict.fromkeys(yes, ("yes", "no")), parents), tables)


def sites(hospitals: int) -> dict[str, tuple[str, ...]]:
    """Which of two or three hospitals holds which columns; with two as in paper 003 of our list."""
    if hospitals not in _SITES:
        raise ParameterError("no such number of simulated hospitals", got=hospitals, wanted="2 or 3")
    return dict(_SITES[hospitals])


def simulate_hospitals(
    hospitals: int, people: int, seed: int
) -> dict[str, tuple[list[str], dict[str, list[str]]]]:
    """For every hospital the ids of its patients and its columns: ``people`` whom all know, and some more."""
    if not 1 <= people <= _LARGEST:
        raise ParameterError("not a number of simulated people", got=people, wanted=f"1 to {_LARGEST:,}")
    network, held = asia(), sites(hospitals)
    alone = int(people * _ALONE)
    total = people + alone * len(held)
    codes = network.sample(total, seeded(seed))
    draws = generator(seeded(seed + 1))
    numbers = draws.permutation(10 * total)[:total]
    found: dict[str, tuple[list[str], dict[str, list[str]]]] = {}
    for index, (name, columns) in enumerate(held.items()):
        own = people + alone * index + np.arange(alone)
        rows = draws.permutation(np.concatenate([np.arange(people), own]))
        ids = [f"P{number:07d}" for number in numbers[rows].tolist()]
        found[name] = ids, _words(network.structure, codes, columns, rows)
    return found


def _words(
    structure: Structure,
    codes: Mapping[str, NDArray[np.signedinteger]],
    columns: tuple[str, ...],
    rows: NDArray[np.int64],
) -> dict[str, list[str]]:
    """Codes as the names of states."""
    return {
        column: [structure.states[column][code] for code in codes[column][rows].tolist()]
        for column in columns
    }


def write_hospitals(folder: Path, hospitals: int, people: int, seed: int) -> dict[str, Path]:
    """One CSV file for each hospital, named after it."""
    files: dict[str, Path] = {}
    for name, (ids, columns) in simulate_hospitals(hospitals, people, seed).items():
        files[name] = folder / f"{name}.csv"
        with files[name].open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([ID, *columns])
            writer.writerows(zip(ids, *columns.values(), strict=True))
    return files
