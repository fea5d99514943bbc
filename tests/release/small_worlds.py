"""Small maps that tests share."""

import numpy as np

from discreet.release import Map
from discreet.release.grid import Grid

BOX = (39.85, 40.00, 116.28, 116.50)


def walk(size=5, spread=1, seed=None):
    """A walk on a square of cells of one unit; with a seed, its transitions are uneven."""
    across, up = np.meshgrid(np.arange(size), np.arange(size))
    points = np.stack([across.reshape(-1), up.reshape(-1)], axis=1).astype(float)
    near = (np.abs(points[:, None] - points[None]).max(axis=2) <= spread).astype(float)
    if seed is not None:
        near *= np.random.default_rng(seed).uniform(0.05, 1, near.shape)
    return Map(points, near / near.sum(axis=1, keepdims=True))


def traces(people=12, length=60, seed=0, box=BOX, cell=2000.0):
    """Invented walks over the middle of a box: a frame of user, time (minutes in seconds), lat, lon."""
    import pandas as pd

    draw, grid = np.random.default_rng(seed), Grid(cell, box)
    wide, tall = grid.metres
    rows = []
    for person in range(people):
        place = np.array([grid.columns, grid.rows]) * cell / 2
        for minute in range(length):
            place = place + draw.normal(0, cell / 2, 2)
            place = np.clip(place, cell / 4, np.array([grid.columns, grid.rows]) * cell * 0.9)
            lat, lon = box[0] + place[1] / tall, box[2] + place[0] / wide
            rows.append((f"user {person:02d}", 60.0 * minute, min(lat, box[1]), min(lon, box[3])))
    return pd.DataFrame(rows, columns=["user", "time", "lat", "lon"])
