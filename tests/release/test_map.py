"""Maps and grids: cells, saving, learning publicly and privately."""

import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_worlds import BOX, traces, walk

from discreet.accounting.ledger import Ledger
from discreet.errors import (
    BundleError,
    DataError,
    DomainError,
    OverspentError,
    ParameterError,
    PersonError,
    RequestError,
)
from discreet.release import Map, Policy, Stream
from discreet.release.grid import Grid
from discreet.release.learn import Request, count_moves
from discreet.release.traces import read_traces


def request(**changed):
    settings = {
        "grid": Grid(2000.0, BOX),
        "public": False,
        "epsilon": 1.0,
        "delta": 1e-6,
        "step": 60.0,
        "columns": ("user", "time", "lat", "lon"),
        "moves_per_person": 1.0,
        "reach": None,
    }
    return Request(**{**settings, **changed})


def test_cells_are_square_metres():
    grid = Grid(340.0, BOX)
    centers = grid.centers()
    assert np.allclose(np.diff(centers[: grid.columns, 0]), 340)
    degrees = grid.degrees(centers)
    inside = (degrees[:, 0] < BOX[1]) & (degrees[:, 1] < BOX[3])
    cells = grid.places(degrees[inside, 0], degrees[inside, 1])
    assert np.array_equal(cells, np.arange(grid.size)[inside])
    north = grid.places([39.85], [116.28])[0], grid.places([39.85 + 340.1 / 111_195.08], [116.28])[0]
    assert north[1] - north[0] == grid.columns


def test_places_outside_and_nan_are_nowhere():
    grid = Grid(340.0, BOX)
    assert grid.places([0, math.nan, 39.9], [116.3, 116.3, math.nan]).tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    "box", [(40, 39, 116, 117), (39, 40, 117, 116), (-91, 0, 0, 1), (39, 40, 116, math.nan)]
)
def test_what_is_no_box_is_refused(box):
    with pytest.raises(RequestError):
        Grid(340.0, box)


@pytest.mark.parametrize("cell", [0, -1, math.inf, 1e-3])
def test_what_is_no_cell_is_refused(cell):
    with pytest.raises(DomainError):
        Grid(cell, BOX)


def test_a_public_map_counts_moves():
    frame = pd.DataFrame(
        {
            "user": [1, 1, 1, 2, 2, 1],
            "time": [0.0, 60, 120, 0, 60, 9999],
            "lat": [39.86, 39.86, 39.88, 39.86, 39.90, 39.86],
            "lon": [116.30] * 6,
        }
    )
    world = Map.learn(frame, cell=2000.0, box=BOX, public=True, step=60.0)
    low, middle, high = world.cells([39.86, 39.88, 39.90], [116.30] * 3)
    chain = world.transitions.toarray()
    assert chain[low].tolist() == pytest.approx(
        [1 / 3 if state in (low, middle, high) else 0 for state in range(world.size)]
    )
    assert chain[high, high] == 1, "nothing leaves it, so it stays"
    assert world.start[low] == pytest.approx(4 / 6)
    every = Map.learn(frame, cell=2000.0, box=BOX, public=True)
    assert every.transitions[middle, low] == 1, "without a step, the next row is the next step"
    near = Map.learn(frame, cell=2000.0, box=BOX, public=True, step=60.0, reach=1)
    assert near.transitions[low, high] == 0


def test_a_map_and_a_policy_come_back_as_they_were(tmp_path):
    world = Map.learn(traces(), cell=2000.0, box=BOX, public=True)
    again = Map.load(world.save(tmp_path / "map.json"))
    assert again.digest == world.digest
    assert np.array_equal(again.points, world.points)
    policy = Policy.radius(world, 2500.0) | Policy.categories(world, np.arange(world.size) % 3)
    back = Policy.load(policy.save(tmp_path / "policy.json"), again)
    assert back.digest == policy.digest and back.words == policy.words
    free = Map([[0.0], [1.5]], [[0.5, 0.5], [1, 0]], columns={"height": [1, 2]})
    assert Map.load(free.save(tmp_path / "free.json")).digest == free.digest
    with pytest.raises(ParameterError, match="another map"):
        Policy.load(tmp_path / "policy.json", free)


@pytest.mark.parametrize("damage", ["altered", "moved", "other", "torn", "absent"])
def test_a_damaged_map_is_refused(tmp_path, damage):
    path = tmp_path / "map.json"
    plain = json.loads(walk().save(path).read_text())
    if damage == "moved":
        plain = json.loads(Map.learn(traces(), cell=2000.0, box=BOX, public=True).save(path).read_text())
        plain["grid"]["box"][2:] = [side + 1 for side in plain["grid"]["box"][2:]]  # the cells stay alike
    if damage == "altered":
        plain["start"][:2] = [0.0, plain["start"][0] + plain["start"][1]]
    if damage == "other":
        plain["kind"] = "policy"
    if damage == "torn":
        plain["transitions"][1][0] = 10**6
    path.write_text(json.dumps(plain))
    if damage == "absent":
        path.unlink()
    with pytest.raises(BundleError):
        Map.load(path)


def test_traces_are_public_or_cost_a_budget():
    assert Map.learn(traces(), cell=2000.0, box=BOX).guarantee is None
    with pytest.raises(ParameterError, match="public"):
        Map.learn(traces(), cell=2000.0, box=BOX, public=False)
    with pytest.raises(ParameterError, match="cost nothing"):
        Map.learn(traces(), cell=2000.0, box=BOX, delta=1e-6)
    with pytest.raises(ParameterError, match="public"):
        Map.learn(traces(), cell=2000.0, box=BOX, public=True, epsilon=1.0)
    with pytest.raises(ParameterError, match="cost nothing"):
        Map.learn(traces(), cell=2000.0, box=BOX, public=True, delta=1e-6)


@pytest.mark.parametrize("bound", [1.0, 0.3, 7.0])
@pytest.mark.parametrize("person", range(4))
def test_one_person_changes_the_counts_by_no_more_than_the_bound(bound, person):
    frame = traces(people=4, seed=2)
    frame.loc[frame.user == "user 01", ["lat", "lon"]] = 39.92, 116.40  # all moves the same one
    wanted = request(moves_per_person=bound)
    whole = count_moves(read_traces(frame), wanted)
    rest = count_moves(read_traces(frame[frame.user != f"user {person:02d}"]), wanted)
    change = (whole.total - rest.total).astype(float)
    assert 0 < np.abs(change).sum() <= whole.l1
    assert np.linalg.norm(change) <= whole.l2
    assert whole.l1 == whole.l2 == bound * 2**20
    if bound == 1.0 and person == 1:
        assert np.abs(change).max() > 0.99 * bound * 2**20, "the bound is used"


@pytest.mark.parametrize("delta", [1e-6, None])
def test_a_private_map_promises_what_was_asked_and_charges_the_ledger(tmp_path, delta):
    book = Ledger.create(tmp_path / "ledger")
    book.budget("traces", "person", 2.0, delta or 0.0)
    settings = {"cell": 3000.0, "box": BOX, "epsilon": 1.5, "delta": delta, "ledger": book}
    settings["dataset"] = "traces"
    world = Map.learn(traces(), **settings)
    assert world.guarantee is not None and world.guarantee.private
    assert (world.guarantee.epsilon, world.guarantee.unit) == (1.5, "person")
    assert world.visited is None and world.size == Grid(3000.0, BOX).size, (
        "which cells were visited is private"
    )
    assert len(book.entries("traces")) >= 1
    with pytest.raises(OverspentError):
        Map.learn(traces(), **settings)
    stream = Stream(world, Policy.radius(world, 4000.0), epsilon=1.0, start=world.start)
    stream.step(3)
    assert "learned from traces with epsilon 1.5" in stream.guarantee.words()
    assert Map.load(world.save(tmp_path / "map.json")).guarantee == world.guarantee


def test_many_private_traces_give_nearly_the_public_map():
    frame = traces(people=400, length=20, seed=5)
    public = Map.learn(frame, cell=4000.0, box=BOX, public=True, reach=2)
    private = Map.learn(frame, cell=4000.0, box=BOX, epsilon=20.0, delta=1e-6, random_state=1)
    assert not private.guarantee.private, "seeded"
    busy = int(public.start.argmax())
    place = int(public.visited[busy])
    full = np.zeros(private.size)
    full[public.visited] = public.transitions[[busy]].toarray()[0]
    assert np.abs(private.transitions[[place]].toarray()[0] - full).sum() < 0.3


BAD_TRACES = {
    "empty": (lambda f: f.iloc[:0], DataError),
    "NaN coordinates": (lambda f: f.assign(lat=np.nan), DataError),
    "infinite coordinates": (lambda f: f.assign(lon=np.inf), DataError),
    "no user column": (lambda f: f.drop(columns="user"), DataError),
    "users as floats": (lambda f: f.assign(user=1.5), DataError),
    "missing users": (lambda f: f.assign(user=None), (DataError, PersonError)),
    "text coordinates": (lambda f: f.assign(lat="here"), DataError),
    "outside the box": (lambda f: f.assign(lat=0.0), DataError),
}


@pytest.mark.parametrize("case", BAD_TRACES)
def test_bad_traces_are_refused(case):
    spoil, kind = BAD_TRACES[case]
    with pytest.raises(kind):
        Map.learn(spoil(traces(people=2, length=5)), cell=2000.0, box=BOX, public=True)


def test_traces_are_read_from_files_and_sorted(tmp_path):
    frame = traces(people=3, length=6)
    mixed = frame.sample(frac=1, random_state=1)
    pq.write_table(pa.Table.from_pandas(mixed, preserve_index=False), tmp_path / "t.parquet")
    mixed.to_csv(tmp_path / "t.csv", index=False)
    stamped = mixed.assign(time=pd.to_datetime(mixed.time, unit="s", utc=True))
    expected = read_traces(frame)
    for source in (mixed, stamped, str(tmp_path / "t.parquet"), str(tmp_path / "t.csv")):
        got = read_traces(source)
        assert np.array_equal(got.lat, frame.lat.to_numpy()) or sorted(got.lat) == sorted(frame.lat)
        assert (np.diff(got.time)[np.diff(got.user) == 0] > 0).all()
        assert len(list(got.trips(60.0))) == 3 == len(list(expected.trips(None)))


def test_unknown_places_are_refused_or_marked():
    world = Map.learn(traces(), cell=2000.0, box=BOX, public=True)
    with pytest.raises(DataError, match="no cell"):
        world.cells([39.0], [116.281])
    assert world.cells([39.0], [116.281], outside="mark").tolist() == [-1]
    states, known = world.nearest([39.0, 39.92], [116.281, 116.39])
    assert known.tolist() == [False, True] and (states >= 0).all()
    with pytest.raises(ParameterError, match="no grid"):
        walk().cells([0], [0])


@pytest.mark.parametrize(
    "transitions",
    [np.ones((2, 2)), np.full((2, 2), -0.5), np.full((2, 2), math.nan), np.eye(3), np.full((2, 2), 0.4)],
)
def test_what_is_no_chain_is_refused(transitions):
    with pytest.raises(ParameterError):
        Map([[0.0], [1.0]], transitions)
