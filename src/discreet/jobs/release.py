"""Learn a map, explain a policy, release traces: files in, files and papers out."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import BundleError, ParameterError
from discreet.randomness import bits_of
from discreet.release import Crowd, Map, Policy, Stream
from discreet.release.leakage import Leakage, leakage_of
from discreet.release.stream import Past
from discreet.release.traces import read_traces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.release.promise import Promise
    from discreet.release.scene import Scene
    from discreet.release.traces import Traces

__all__ = [
    "Explained",
    "Released",
    "Shown",
    "box_of",
    "explain_release",
    "learn_map",
    "length_of",
    "policy_of",
    "run_release",
]

_LENGTH = re.compile(r"\s*([0-9.]+(?:e-?[0-9]+)?)\s*(m|km)?\s*", re.IGNORECASE)
_AT_ONCE = 2000


def length_of(text: str | float) -> float:
    """A length in metres: 340, "340m" or "1km"."""
    found = _LENGTH.fullmatch(str(text))
    try:
        number = float(found[1]) if found else float("nan")
    except ValueError:
        number = float("nan")
    if found is None or not number > 0:
        raise ParameterError("this is not a length", got=text, wanted="such as 340m or 1km")
    return number * (1000.0 if (found[2] or "m").lower() == "km" else 1.0)


def box_of(text: str | Sequence[float]) -> tuple[float, float, float, float]:
    """South, north, west and east: "39.85:40.00,116.28:116.50"."""
    try:
        sides = re.split(r"[:,]", text) if isinstance(text, str) else text
        south, north, west, east = map(float, sides)
    except (TypeError, ValueError):
        raise ParameterError(
            "this is not a box", got=text, wanted="SOUTH:NORTH,WEST:EAST, such as 39.85:40.00,116.28:116.50"
        ) from None
    return south, north, west, east


def policy_of(text: str, world: Map) -> Policy:
    """A policy in words: radius:1km, complete, transitions, category:COLUMN[:1km], FILE.json; joined by +."""
    joined: Policy | None = None
    for part in text.split("+"):
        one = _policy(part.strip(), world)
        joined = one if joined is None else joined | one
    assert joined is not None
    return joined


def _policy(text: str, world: Map) -> Policy:
    name, _, rest = text.partition(":")
    if text.endswith(".json"):
        return Policy.load(text, world)
    if name == "radius" and rest:
        return Policy.radius(world, length_of(rest))
    if name == "complete" and not rest:
        return Policy.complete(world)
    if name == "transitions" and not rest:
        return Policy.transitions(world)
    if name == "category" and rest:
        column, _, reach = rest.partition(":")
        labels = world.query(column).answers[:, 0]
        return Policy.categories(world, labels, length_of(reach) if reach else None)
    raise ParameterError(
        "this is not a policy",
        got=text,
        wanted="radius:1km, complete, transitions, category:COLUMN, category:COLUMN:1km, or a FILE.json",
        remedy="Join several with +.",
    )


def learn_map(
    traces: str | Sequence[str],
    out: str,
    *,
    cell: str | float,
    box: str | Sequence[float],
    **settings: Any,
) -> Map:
    """Learn a map and write it; `discreet.release.Map.learn` says what the settings mean and cost."""
    place = _place(out)
    world = Map.learn(traces, cell=length_of(cell), box=box_of(box), **settings)
    world.save(place)
    return world


@dataclass(frozen=True, eq=False)
class Explained:
    """What a policy would do, before anything is released. ``scenes`` are those of the next steps."""

    world: Map
    policy: Policy
    promise: Promise
    scenes: tuple[Scene, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One row a step: how much is possible, the hull, the protection, the expected error."""
        found: list[dict[str, Any]] = []
        for step, scene in enumerate(self.scenes, 1):
            degrees = scene.degrees[scene.possible]
            found.append(
                {
                    "step": step,
                    "possible": int(scene.possible.sum()),
                    "area": scene.area,
                    "flat": scene.flat,
                    "error": scene.error,
                    "least": int(degrees.min()),
                    "typical": int(np.median(degrees)),
                    "exposed": len(scene.exposed),
                    "area_ratio": scene.area_ratio if np.isfinite(scene.area_ratio) else None,
                }
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain data."""
        return {
            "policy": self.policy.describe(),
            "words": self.promise.words(),
            "promise": self.promise.to_dict(),
            "steps": self.rows(),
        }


def explain_release(
    map_path: str, policy: str, epsilon: float, *, start: str | None = None, steps: int = 5, **settings: Any
) -> Explained:
    """What a policy would mean: hull, protection and expected error of the first steps.

    **Reveals** and **costs** nothing: no trace is read, nothing is drawn. What is possible is followed as the
    map allows it, which is exact for hulls of full rank; a cut or delta narrows the first step alone.
    """
    world = Map.load(map_path)
    wanted = policy_of(policy, world)
    stream = Stream(world, wanted, epsilon=epsilon, start=_start(world, start), **settings)
    scenes = [stream.foresee()[0]]
    belief = stream.start
    for _ in range(steps - 1):
        belief = np.asarray(world.transitions.T @ belief)
        scenes.append(
            Stream(world, wanted, epsilon=epsilon, start=belief / belief.sum(), **settings).foresee()[0]
        )
    return Explained(world, wanted, stream.guarantee, tuple(scenes))


@dataclass(frozen=True, eq=False)
class Released:
    """What a run released, and for its owner how it went.

    ``shown`` is one trip, whole: its past, its times, its true states. ``errors``, ``surrogates`` and
    ``protection`` are over all releases; they depend on the true states and are for the owner alone.
    """

    world: Map
    policy: Policy
    promise: Promise
    out: Path
    releases: int
    trips: int
    errors: NDArray[np.float64]
    surrogates: float
    protection: NDArray[np.int64]
    shown: Shown
    report: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """The run as plain data."""
        return {
            "out": str(self.out),
            "report": None if self.report is None else str(self.report),
            "releases": self.releases,
            "trips": self.trips,
            "promise": self.promise.to_dict(),
            "words": self.promise.words(),
            "leakage": self.shown.leakage.to_dict(),
            "owner": {
                "mean_error": float(self.errors.mean()),
                "median_protection": float(np.median(self.protection)),
                "share_of_surrogates": self.surrogates,
            },
        }


@dataclass(frozen=True, eq=False)
class Shown:
    """One trip, whole. ``truth`` and ``places`` (in metres) are for its owner alone."""

    name: str
    times: NDArray[np.float64]
    start: NDArray[np.float64]
    past: list[Past]
    truth: NDArray[np.int64]
    protection: list[int]
    leakage: Leakage


def run_release(
    traces: str | Sequence[str],
    map_path: str,
    policy: str,
    epsilon: float,
    out: str,
    *,
    report: str | None = None,
    view: str = "public",
    person: str | None = None,
    start: str | None = None,
    step: float | None = None,
    columns: tuple[str, str, str, str] = ("user", "time", "lat", "lon"),
    random_state: int | None = None,
    tell: Callable[[int, int], None] | None = None,
    **settings: Any,
) -> Released:
    """Release traces under a policy, and write what was released as Parquet.

    **Reveals** the released points with users and times, and where trips begin and end. **Costs** epsilon a
    step, as the promise says. **Trusts** whoever runs it, who sees the traces: on a person's own device,
    nobody else.

    Rows of one person that are ``step`` seconds apart, give or take half, make a trip; each trip is a stream
    of its own. Places that no state knows are taken for the nearest state. ``report`` is an HTML file about
    one trip (of ``person``; by default the longest): with ``view="owner"`` it shows the true trace beside the
    released one.
    """
    from discreet.report.release import write_release_page

    if view not in ("public", "owner"):
        raise ParameterError("no such view of a report", got=view, wanted="public or owner")
    places = [_place(out), *([_place(report)] if report else [])]
    world = Map.load(map_path)
    wanted = policy_of(policy, world)
    settings = {"outside": "nearest", **settings}
    settings |= {"epsilon": epsilon, "random_state": bits_of(random_state)}
    first = _start(world, start)
    Crowd(
        world, wanted, start=_row(first, world)[None], **settings
    ).foresee()  # refuses before anything is read
    told = read_traces(traces, columns)
    trips = sorted(told.trips(step), key=lambda trip: trip.start - trip.stop)
    states, known = world.nearest(told.lat, told.lon)
    chosen = _chosen(told, trips, person)
    run = _Run(world, wanted, settings, _row(first, world), told, states, trips, chosen)
    run.release(tell or (lambda done, all_: None))
    _write(places[0], world, told, run)
    surrogates = float((run.surrogate | ~known).mean())
    errors = np.linalg.norm(run.points - world.points[states], axis=1)
    shown = run.shown(told)
    page = places[1] if report else None
    about = (run.promise, places[0], len(told), len(trips), errors, surrogates, run.protection, shown, page)
    done = Released(world, wanted, *about)
    if report:
        places[1].write_text(
            write_release_page(done.world, done.policy, done.promise, shown, view == "owner")
        )
    return done


class _Run:
    """All trips in lockstep: the longest first, so that those who still travel are always the first ones."""

    def __init__(
        self,
        world: Map,
        policy: Policy,
        settings: dict[str, Any],
        start: NDArray[np.float64],
        traces: Traces,
        states: NDArray[np.int64],
        trips: list[slice],
        chosen: int,
    ) -> None:
        self._world, self._policy, self._settings, self._start = world, policy, settings, start
        self._states, self._trips, self._chosen = states, trips, chosen
        self.points = np.empty((len(traces), world.points.shape[1]))
        self.surrogate = np.zeros(len(traces), dtype=np.bool_)
        self.protection = np.zeros(len(traces), dtype=np.int64)
        self.trip = np.zeros(len(traces), dtype=np.int64)
        self._past: list[Past] = []

    def release(self, tell: Callable[[int, int], None]) -> None:
        """Release every trip."""
        for first in range(0, len(self._trips), _AT_ONCE):
            self._block(first, self._trips[first : first + _AT_ONCE], tell)

    def _block(self, first: int, trips: list[slice], tell: Callable[[int, int], None]) -> None:
        starts = np.array([trip.start for trip in trips])
        lengths = np.array([trip.stop - trip.start for trip in trips])
        crowd = Crowd(
            self._world,
            self._policy,
            start=np.repeat(self._start[None], len(trips), axis=0),
            **self._settings,
        )
        self.promise = crowd.guarantee
        name = crowd.questions[0].name
        for at in range(int(lengths[0])):
            crowd.keep(int((lengths > at).sum()))
            rows = starts[: crowd.people] + at
            done = crowd.step(self._states[rows])
            self.points[rows] = done.points[name]
            self.surrogate[rows], self.protection[rows] = done.surrogate, done.protection
            self.trip[rows] = first + np.arange(crowd.people)
            mine = self._chosen - first
            if 0 <= mine < crowd.people:
                group = next(group for group in done.groups if mine in group.people)
                index = int(np.flatnonzero(group.people == mine)[0])
                self._past.append(Past(group.scenes, tuple(units[index] for units in group.units)))
            tell(first + at, first + int(lengths[0]))

    def shown(self, traces: Traces) -> Shown:
        """The trip that a report is about."""
        trip = self._trips[self._chosen]
        return Shown(
            name=str(traces.names[int(traces.user[trip.start])]),
            times=traces.time[trip],
            start=self._start,
            past=self._past,
            truth=self._states[trip],
            protection=self.protection[trip].tolist(),
            leakage=leakage_of(self._world, self._policy, self._start, self._past, self.promise.epsilon),
        )


def _write(place: Path, world: Map, traces: Traces, run: _Run) -> None:
    """What was released, as Parquet, with the promise in its metadata."""
    import pyarrow as pa
    from pyarrow import parquet

    lat, lon = world.degrees(run.points).T
    names = pa.array(traces.names).take(pa.array(traces.user))
    table = pa.table(
        {
            "user": names,
            "time": traces.time,
            "trip": run.trip,
            "lat": lat,
            "lon": lon,
            "east": run.points[:, 0],
            "north": run.points[:, 1],
        }
    )
    papers = {"discreet.promise": json.dumps(run.promise.to_dict()), "discreet.words": run.promise.words()}
    try:
        parquet.write_table(table.replace_schema_metadata(papers), place)
    except OSError as error:
        raise BundleError(f"cannot write {place.name}: {error.strerror}") from None


def _place(path: str) -> Path:
    place = Path(path).expanduser()
    if place.is_dir() or not place.absolute().parent.is_dir():
        raise BundleError("the place for the result cannot be written", got=place.name, wanted="a file name")
    return place


def _start(world: Map, text: str | None) -> Any:
    """A start in words: nothing (the map's usual places), a state, or LAT,LON."""
    if text is None:
        return world.start
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) == 2:
        return int(world.cells([numbers[0]], [numbers[1]])[0])
    if len(numbers) == 1 and numbers[0].is_integer():
        return int(numbers[0])
    raise ParameterError("this is not a start", got=text, wanted="a state, or LAT,LON")


def _row(start: Any, world: Map) -> NDArray[np.float64]:
    if isinstance(start, int):
        row = np.zeros(world.size)
        if not 0 <= start < world.size:
            raise ParameterError("the start is an unknown state", wanted=f"0 to {world.size - 1}")
        row[start] = 1
        return row
    return np.asarray(start)


def _chosen(traces: Traces, trips: list[slice], person: str | None) -> int:
    """The longest trip, of a person if one is named."""
    if person is None:
        return 0
    for index, trip in enumerate(trips):
        if str(traces.names[int(traces.user[trip.start])]) == person:
            return index
    raise ParameterError("the report is wanted for a person who has no trace", wanted="a user of the table")
