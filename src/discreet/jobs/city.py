"""A simulated city: people with homes, work and favourite places, and what they check in. Not real data.

The city lies on an island that does not exist, at 45 degrees north in the middle of the Atlantic. A river
runs through it; the streets of the old town run along it, those of the rest by the compass. People differ
in how often they check in: most do a few times, some do hundreds of times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.randomness import generator, seeded

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from discreet.randomness import Generator

__all__ = ["BOUNDS", "City", "draw_river", "simulate_city", "write_city"]

BOUNDS = {"lat": (44.91, 45.09), "lon": (-30.14, -29.86)}
"""The island, as everybody knows it."""

MOST = 2000  # check-ins of one person
_KILOMETRE = 1 / 111.195  # in degrees of latitude
_EAST = _KILOMETRE / math.cos(math.radians(45.0))

# places in kilometres east and north of the old bridge: where, how wide, how they lie (degrees), how popular
_SPOTS = np.array(
    [
        (0.0, 0.7, 0.42, 0.30, 20, 20.0),  # old town
        (-2.0, -2.0, 0.25, 0.18, 0, 12.0),  # main station
        (2.6, 1.9, 0.55, 0.20, 35, 8.0),  # harbour front
        (-3.4, 2.2, 0.40, 0.35, 0, 8.0),  # university
        (1.2, -2.6, 0.30, 0.30, 0, 6.0),  # market hall
        (4.6, -1.2, 0.50, 0.28, 80, 5.0),  # night life
        (-5.2, -3.4, 0.35, 0.35, 0, 5.0),  # shopping centre
        (6.6, 4.6, 0.75, 0.25, 10, 4.0),  # beach
        (-0.6, 4.6, 0.30, 0.22, 60, 4.0),  # stadium
        (-7.6, 5.6, 0.90, 0.16, 50, 5.0),  # airport
        (7.4, -5.8, 0.45, 0.30, 0, 3.0),  # ferry
        (-2.6, -6.4, 0.60, 0.45, 120, 3.0),  # lake
    ]
)
# where people live: centre, width, share
_HOMES = np.array(
    [
        (-1.8, 1.6, 0.9, 5.0),
        (2.0, -0.8, 0.8, 4.0),
        (-4.6, -0.8, 1.1, 3.5),
        (4.2, 2.8, 1.0, 3.0),
        (0.4, -4.8, 1.2, 3.0),
        (-5.6, 3.6, 1.0, 2.0),
        (5.8, -3.6, 1.0, 2.0),
        (0.8, 6.2, 0.9, 1.5),
        (-6.4, -6.0, 1.0, 1.0),
    ]
)


@dataclass(frozen=True)
class City:
    """Check-ins, sorted by person: who, and where in degrees."""

    user: NDArray[np.int64]
    lat: NDArray[np.float64]
    lon: NDArray[np.float64]

    @property
    def points(self) -> NDArray[np.float64]:
        """The check-ins as (lat, lon)."""
        return np.stack([self.lat, self.lon], axis=1)


def simulate_city(people: int, seed: int = 0) -> City:
    """Simulate so many people; the same seed gives the same city."""
    draw = generator(seeded(seed))
    counts = np.minimum(np.floor(np.exp(draw.normal(1.05, 1.15, people))) + 1, MOST).astype(np.int64)
    person = np.repeat(np.arange(people), counts)
    homes = _near_streets(_homes(people, draw), draw)
    works = _spots(draw.choice(len(_SPOTS), people, p=_popularity()), draw)
    favourites = draw.choice(len(_SPOTS), (people, 3), p=_popularity())
    why = draw.choice(3, len(person), p=(0.24, 0.16, 0.60))
    visited = _spots(favourites[person, draw.integers(0, 3, len(person))], draw)
    places = np.stack([homes[person], works[person], visited])[why, np.arange(len(person))]
    places = _out_of_the_river(places) + draw.normal(0, 0.04, places.shape)
    lat = np.clip(45.0 + places[:, 1] * _KILOMETRE, *BOUNDS["lat"])
    lon = np.clip(-30.0 + places[:, 0] * _EAST, *BOUNDS["lon"])
    return City(person, lat, lon)


def write_city(city: City, path: Path) -> None:
    """Write the check-ins as Parquet: user, lat, lon."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: Any = {"user": city.user, "lat": city.lat, "lon": city.lon}
    draft = path.with_name(f".{path.name}.draft")
    pq.write_table(pa.table(columns), draft)
    draft.replace(path)


def draw_river() -> NDArray[np.float64]:
    """The river as (lat, lon) points from west to east, for maps."""
    east = np.linspace(-12, 12, 200)
    return np.stack([45.0 + _river(east) * _KILOMETRE, -30.0 + east * _EAST], axis=1)


def _river(east: NDArray[np.float64]) -> NDArray[np.float64]:
    return 0.9 * np.sin(east / 2.4) + 0.12 * east


def _popularity() -> NDArray[np.float64]:
    return _SPOTS[:, 5] / _SPOTS[:, 5].sum()


def _spots(chosen: NDArray[np.int64], draw: Generator) -> NDArray[np.float64]:
    """A place within each chosen spot, along the way it lies."""
    east, north, long, wide, angle, _ = _SPOTS[chosen].T
    along, across = draw.normal(0, 1, (2, len(chosen))) * (long, wide)
    turn = np.radians(angle)
    return np.stack(
        [
            east + along * np.cos(turn) - across * np.sin(turn),
            north + along * np.sin(turn) + across * np.cos(turn),
        ],
        axis=1,
    )


def _homes(people: int, draw: Generator) -> NDArray[np.float64]:
    chosen = _HOMES[draw.choice(len(_HOMES), people, p=_HOMES[:, 3] / _HOMES[:, 3].sum())]
    return chosen[:, :2] + draw.normal(0, 1, (people, 2)) * chosen[:, 2:3]


def _near_streets(places: NDArray[np.float64], draw: Generator) -> NDArray[np.float64]:
    """Houses stand along streets, four to the kilometre: one coordinate moves to the nearest."""
    snapped = np.rint(places * 4) / 4
    way = draw.integers(0, 2, len(places))
    moved = places.copy()
    rows = np.arange(len(places))
    moved[rows, way] = snapped[rows, way]
    return moved


def _out_of_the_river(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Whoever would stand in the water stands on the nearer bank; the bridges are for walking."""
    depth = places[:, 1] - _river(places[:, 0])
    wet = np.abs(depth) < 0.22
    north = places[:, 1] + np.where(wet, np.where(depth >= 0, 0.22, -0.22) - depth, 0.0)
    return np.stack([places[:, 0], north], axis=1)
