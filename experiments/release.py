"""Releasing traces under a policy, on Geolife and Gowalla: runtime, error and protection over time, epsilon,
radius.

The paper's figures 10 to 13 with its two policies and delta-location sets (DPLS, a complete graph on the
fewest states that hold 0.99), and what they lack: the error of an adversary who knows everything released, so
that policies are compared at equal safety and not only at equal epsilon. A step is one minute for Geolife and
the next check-in for Gowalla. Maps are learned from 80% of the users; trips are of the others, who go where
the map does not know it: then the nearest possible state is released, and how often is told.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
from matplotlib.figure import Figure

from discreet.audit.tracker import follow
from discreet.release import Map, Policy, Stream
from discreet.release.traces import read_traces
from experiments.places import OUT, write_table

EPSILONS = (0.2, 0.5, 1.0, 2.0, 5.0)
DELTA = 0.01
QUICK, FULL = (6, 30), (12, 60)  # trips, and steps of each
NOTE = (
    "Radius and transition policies (DPHMM) against delta-location sets (DPLS, delta 0.01), mean over "
    "held-out trips. "
    "Error: between the release and the true answer, km. Adversary: error of the mean of the smoothed "
    "belief given all "
    "releases, km. Protection: degree of the released state, median. Stood in: share of steps whose true "
    "state was "
    "not possible. Leak: typical change of log-odds of joined states in the end. New York is not the "
    "papers' Los Angeles, "
    "which is not obtainable: no figure here reproduces theirs."
)

FAIR = (
    "Error in km of DPLS and of radius policies at the same adversary's error (km, in hindsight): "
    "interpolated over all "
    "radii and epsilons that were run; empty where no radius policy that was run is as safe."
)


@dataclass(frozen=True)
class Place:
    """A data set with its map: cells, box, what a step is, and the radii to try."""

    name: str
    file: str
    cell: float
    box: tuple[float, float, float, float]
    step: float | None
    reach: int | None
    radii: tuple[float, ...]


PLACES = (
    Place("geolife", "geolife_beijing_1min.parquet", 340.0, (39.85, 40.00, 116.28, 116.50), 60.0, 5,
          (500.0, 1000.0, 2000.0, 4000.0)),
    Place("gowalla", "gowalla_nyc.parquet", 890.0, (40.65, 40.85, -74.05, -73.90), None, None,
          (1000.0, 2000.0, 4000.0, 8000.0)),
)  # fmt: skip


def run(folder: Path, quick: bool) -> str:
    """Both data sets: one table, three figures."""
    rows: list[dict[str, Any]] = []
    courses: dict[str, dict[str, Any]] = {}
    for place in PLACES:
        found, course = _run_place(folder, place, quick)
        rows += found
        courses[place.name] = course
    OUT.mkdir(parents=True, exist_ok=True)
    _draw_courses(courses)
    _draw_settings(rows)
    _draw_fair(rows)
    fair = [compared for place in PLACES for compared in _compare(rows, place.name)]
    return write_table("release", rows, NOTE) + "\n" + write_table("release_fair", fair, FAIR)


def _compare(rows: list[dict[str, Any]], place: str) -> list[dict[str, Any]]:
    """For each DPLS row the error of radius policies at the same adversary's error, interpolated over all of
    them.
    """
    mine = sorted(
        (row["adversary"], row["error"])
        for row in rows
        if row["data"] == place and row["policy"] == "DPHMM radius"
    )
    safety, error = np.array(mine).T
    compared = []
    for row in (row for row in rows if row["data"] == place and row["policy"] == "DPLS"):
        within = safety.min() <= row["adversary"] <= safety.max()
        equal = float(np.exp(np.interp(row["adversary"], safety, np.log(error)))) if within else None
        compared.append(
            {
                "data": place,
                "DPLS epsilon": row["epsilon"],
                "adversary": row["adversary"],
                "DPLS error": row["error"],
                "radius error": equal,
                "DPLS / radius": None if equal is None else row["error"] / equal,
            }
        )
    return compared


def _run_place(folder: Path, place: Place, quick: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    table = pq.read_table(folder / "location" / place.file, columns=["user", "time", "lat", "lon"])
    users = np.unique(table["user"].to_numpy())
    held = np.random.default_rng(0).choice(users, len(users) // 5, replace=False)
    mine = pa.array(np.isin(table["user"].to_numpy(), held))
    world = Map.learn(
        table.filter(pa.compute.invert(mine)),
        cell=place.cell, box=place.box, public=True, step=place.step, reach=place.reach,
    )  # fmt: skip
    trips = _trips(table.filter(mine), world, place, *(QUICK if quick else FULL))
    settings: list[tuple[str, float, float]] = []
    for epsilon in (0.5, 2.0) if quick else EPSILONS:
        settings += [
            ("DPHMM radius", epsilon, place.radii[1]),
            ("DPHMM transitions", epsilon, 0.0),
            ("DPLS", epsilon, 0.0),
        ]
    settings += [("DPHMM radius", 1.0, radius) for radius in (place.radii[:2] if quick else place.radii)]
    settings += [] if quick else [("DPHMM radius", 0.3, radius) for radius in place.radii]
    settings += [] if not quick else [("DPHMM transitions", 1.0, 0.0), ("DPLS", 1.0, 0.0)]
    rows, course = [], {}
    for name, epsilon, radius in dict.fromkeys(settings):
        policy = _policy(name, radius, world)
        outcome = _release(world, policy, epsilon, trips, DELTA if name == "DPLS" else 0.0)
        rows.append(
            {
                "data": place.name,
                "policy": name,
                "radius km": radius / 1000 or None,
                "epsilon": epsilon,
                **outcome.row(),
            }
        )
        if epsilon == 1.0 and radius in (0.0, place.radii[1]):
            course[name] = outcome
    return rows, course


def _policy(name: str, radius: float, world: Map) -> Policy:
    if name == "DPHMM radius":
        return Policy.radius(world, radius)
    return Policy.transitions(world) if name == "DPHMM transitions" else Policy.complete(world)


def _trips(table: pa.Table, world: Map, place: Place, count: int, length: int) -> list[np.ndarray]:
    """The first ``length`` steps of long trips within the box, at most one a user."""
    traces = read_traces(table)
    states = world.cells(traces.lat, traces.lon, outside="mark")
    found: dict[int, np.ndarray] = {}
    for trip in traces.trips(place.step):
        inside = states[trip]
        user = int(traces.user[trip.start])
        if len(inside) > length and (inside[: length + 1] >= 0).all() and user not in found:
            found[user] = inside[: length + 1]
    return list(found.values())[:count]


@dataclass(frozen=True)
class _Outcome:
    """Means over trips, one number a step."""

    error: np.ndarray
    adversary: np.ndarray
    protection: np.ndarray
    stood_in: np.ndarray
    leak: np.ndarray
    milliseconds: np.ndarray

    def row(self) -> dict[str, Any]:
        """The outcome as one row of a table."""
        return {
            "error": float(self.error.mean()),
            "adversary": float(self.adversary.mean()),
            "protection": float(np.median(self.protection)),
            "stood in": float(self.stood_in.mean()),
            "leak": float(np.median(self.leak)),
            "ms a step": float(np.median(self.milliseconds)),
        }


def _release(world: Map, policy: Policy, epsilon: float, trips: list[np.ndarray], delta: float) -> _Outcome:
    """Release every trip from a known start, then attack it."""
    from discreet.release.leakage import leakage

    tables: dict[str, list[np.ndarray]] = {name: [] for name in _Outcome.__dataclass_fields__}
    for number, trip in enumerate(trips):
        stream = Stream(
            world,
            policy,
            epsilon=epsilon,
            start=world.start,
            delta=delta,
            outside="nearest",
            random_state=number,
        )
        steps = []
        for state in trip[1:]:
            begun = time.perf_counter()
            done = stream.step(int(state))
            spent = 1000 * (time.perf_counter() - begun)
            error = float(np.linalg.norm(done.point - world.points[state])) / 1000
            steps.append((error, done.protection, done.surrogate, spent))
        errors, protection, stood_in, spent = map(np.array, zip(*steps, strict=True))
        found = {
            "error": errors, "protection": protection, "stood_in": stood_in, "milliseconds": spent,
            "adversary": follow(stream, trip[1:]).in_hindsight / 1000,
            "leak": np.array([leak.typical for leak in leakage(stream).steps]),
        }  # fmt: skip
        for name, values in found.items():
            tables[name].append(values)
    return _Outcome(
        **{name: np.mean(np.array(values, dtype=float), axis=0) for name, values in tables.items()}
    )


def _draw_courses(courses: dict[str, dict[str, _Outcome]]) -> None:
    """Figures 10 and 11: runtime, error, protection, and the adversary's error, over time at epsilon 1."""
    figure = Figure(figsize=(13, 6.4), layout="constrained")
    kinds = (
        ("milliseconds", "ms a step"),
        ("protection", "protection"),
        ("error", "error, km"),
        ("adversary", "adversary's error, km"),
    )
    for row, (place, course) in zip(figure.subplots(2, 4, squeeze=False), courses.items(), strict=True):
        for axes, (kind, title) in zip(row, kinds, strict=True):
            for name, outcome in course.items():
                axes.plot(np.arange(1, len(outcome.error) + 1), getattr(outcome, kind), label=name, lw=1.4)
            _dress(axes, f"{place}: {title}", "step")
        row[0].set_yscale("log")
        row[0].legend(frameon=False, fontsize=8)
    figure.savefig(OUT / "release_time.png", dpi=130)


def _draw_settings(rows: list[dict[str, Any]]) -> None:
    """Figures 12 and 13: protection and error by epsilon and by radius."""
    figure = Figure(figsize=(13, 6.4), layout="constrained")
    for line, place in zip(figure.subplots(2, 4, squeeze=False), PLACES, strict=True):
        mine = [row for row in rows if row["data"] == place.name]
        for axes, kind in zip(line[:2], ("protection", "error"), strict=True):
            for name in dict.fromkeys(row["policy"] for row in mine):
                some = [
                    r for r in mine if r["policy"] == name and r["radius km"] in (None, place.radii[1] / 1000)
                ]
                some.sort(key=lambda row: row["epsilon"])
                axes.plot([r["epsilon"] for r in some], [r[kind] for r in some], marker="o", ms=4, label=name)
            axes.set_xscale("log")
            _dress(axes, f"{place.name}: {kind}", "epsilon")
        line[0].legend(frameon=False, fontsize=8)
        for axes, kind in zip(line[2:], ("protection", "error"), strict=True):
            some = sorted(
                (r for r in mine if r["policy"] == "DPHMM radius" and r["epsilon"] == 1.0),
                key=lambda row: row["radius km"],
            )
            axes.plot([r["radius km"] for r in some], [r[kind] for r in some], marker="o", ms=4)
            for rival in (r for r in mine if r["policy"] == "DPLS" and r["epsilon"] == 1.0):
                axes.axhline(rival[kind], color="tab:green", ls="--", lw=1)
            _dress(axes, f"{place.name}: {kind} (dashed: DPLS)", "radius, km; epsilon 1")
    figure.savefig(OUT / "release_settings.png", dpi=130)


def _draw_fair(rows: list[dict[str, Any]]) -> None:
    """Error against the adversary's error: what a policy costs at equal safety."""
    figure = Figure(figsize=(9.5, 4.2), layout="constrained")
    for axes, place in zip(figure.subplots(1, 2), PLACES, strict=True):
        mine = [row for row in rows if row["data"] == place.name]
        for name in dict.fromkeys(row["policy"] for row in mine):
            some = sorted((r for r in mine if r["policy"] == name), key=lambda row: row["adversary"])
            axes.plot(
                [r["adversary"] for r in some], [r["error"] for r in some], marker="o", ms=4, label=name
            )
        axes.set_yscale("log")
        _dress(axes, f"{place.name}: error at equal safety", "adversary's error in hindsight, km")
        axes.set_ylabel("error of a release, km")
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(OUT / "release_fair.png", dpi=130)


def _dress(axes: Any, title: str, below: str) -> None:
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    axes.set_xlabel(below)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
