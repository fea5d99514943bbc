"""Release jobs: words into policies, files into files."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from discreet.errors import BundleError, DataError, ParameterError
from discreet.jobs.release import box_of, explain_release, learn_map, length_of, policy_of, run_release
from discreet.release import Map


def frame(people=6, length=25):
    import pandas as pd

    draw = np.random.default_rng(0)
    rows = []
    for person in range(people):
        place = np.array([39.92, 116.39])
        for minute in range(length - 3 * person):
            place = np.clip(place + draw.normal(0, 0.006, 2), [39.86, 116.29], [39.99, 116.49])
            rows.append((f"u{person}", 60.0 * minute, *place))
    return pd.DataFrame(rows, columns=["user", "time", "lat", "lon"])


@pytest.fixture
def files(tmp_path):
    table = frame()
    table.to_csv(tmp_path / "traces.csv", index=False)
    learn_map(
        str(tmp_path / "traces.csv"),
        str(tmp_path / "map.json"),
        cell="1km",
        box="39.85:40.00,116.28:116.50",
        public=True,
    )
    return tmp_path


@pytest.mark.parametrize(
    ("text", "metres"), [("340m", 340), ("1km", 1000), ("0.5 km", 500), (12, 12), ("7", 7)]
)
def test_lengths(text, metres):
    assert length_of(text) == metres


@pytest.mark.parametrize("text", ["", "1 mile", "-3m", "0", "km", "1..2m"])
def test_what_is_no_length_is_refused(text):
    with pytest.raises(ParameterError, match="not a length"):
        length_of(text)


def test_boxes():
    assert (
        box_of("39.85:40.00,116.28:116.50")
        == (39.85, 40.0, 116.28, 116.5)
        == box_of([39.85, 40, 116.28, 116.5])
    )
    for text in ("1,2,3", "a:b,c:d"):
        with pytest.raises(ParameterError, match="not a box"):
            box_of(text)


def test_policies_in_words(tmp_path):
    world = Map(np.arange(5.0) * 1000, np.eye(5), columns={"kind": [0, 0, 1, 1, 1]})
    assert len(policy_of("radius:1km", world).pairs) == 4
    assert len(policy_of("category:kind:1km", world).pairs) == 3
    joined = policy_of("radius:1km+complete", world)
    assert len(joined.cliques) == 1 and len(joined.pairs) == 4
    joined.save(tmp_path / "mine.json")
    assert policy_of(str(tmp_path / "mine.json"), world).digest == joined.digest
    for text in ("radius", "near:1km", "complete:2", "radius:1km+", "category:height"):
        with pytest.raises(ParameterError):
            policy_of(text, world)


def test_an_explanation_reads_nothing_but_the_map(files):
    found = explain_release(str(files / "map.json"), "radius:2km", 1.0, start="39.92,116.39", steps=4)
    rows = found.rows()
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    assert rows[0]["possible"] < rows[-1]["possible"]
    assert all(row["error"] > 0 and row["least"] >= 2 for row in rows)
    assert json.dumps(found.to_dict())


def test_a_run_releases_every_row_and_says_what_it_promises(files):
    done = run_release(
        str(files / "traces.csv"),
        str(files / "map.json"),
        "radius:2km",
        1.0,
        str(files / "out.parquet"),
        step=60.0,
    )
    table = pq.read_table(files / "out.parquet")
    assert table.num_rows == done.releases == len(frame())
    assert table.column_names == ["user", "time", "trip", "lat", "lon", "east", "north"]
    papers = table.schema.metadata
    assert json.loads(papers[b"discreet.promise"])["epsilon"] == 1.0
    assert done.trips == 6
    assert done.promise.private
    trip = table.filter(np.array(table["user"].to_pylist()) == "u0")
    assert len(set(trip["trip"].to_pylist())) == 1
    assert not {str(value) for value in frame().lat} & {str(value) for value in table["lat"].to_pylist()}


def test_a_seeded_run_is_marked_and_can_be_repeated(files):
    outs = []
    for name in ("a", "b"):
        done = run_release(
            str(files / "traces.csv"),
            str(files / "map.json"),
            "radius:2km",
            1.0,
            str(files / name),
            random_state=4,
        )
        assert not done.promise.private
        outs.append(pq.read_table(files / name)["lat"].to_pylist())
    assert outs[0] == outs[1]


def test_the_lockstep_of_many_trips_is_that_of_streams(files):
    """Each trip's belief must follow its own releases: the report's leakage equals that of a stream of its
    own.
    """
    from discreet.release.leakage import leakage_of

    done = run_release(
        str(files / "traces.csv"), str(files / "map.json"), "radius:2km", 1.0, str(files / "o"), person="u3"
    )
    assert done.shown.name == "u3" and len(done.shown.past) == 25 - 9
    found = leakage_of(done.world, done.policy, done.shown.start, done.shown.past, 1.0)
    assert found.to_dict() == done.shown.leakage.to_dict()
    table = pq.read_table(files / "o")
    mine = table.filter(np.array(table["user"].to_pylist()) == "u3")
    points = np.array([past.scenes[0].query.points(past.units[0]) for past in done.shown.past])
    assert np.allclose(mine["east"].to_numpy(), points[:, 0])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"traces": "nowhere.csv"}, DataError),
        ({"map_path": "nowhere.json"}, BundleError),
        ({"policy": "near"}, ParameterError),
        ({"epsilon": 0.0}, ParameterError),
        ({"view": "mine"}, ParameterError),
        ({"person": "nobody"}, ParameterError),
        ({"start": "here"}, ParameterError),
        ({"start": "99999"}, ParameterError),
        ({"out": "no/such/folder/x"}, BundleError),
        ({"repair": "nearest"}, ParameterError),
    ],
)
def test_a_bad_run_writes_nothing(files, change, error):
    settings = {
        "traces": str(files / "traces.csv"),
        "map_path": str(files / "map.json"),
        "policy": "radius:2km",
        "epsilon": 1.0,
        "out": str(files / "out.parquet"),
        **change,
    }
    with pytest.raises(error):
        run_release(**settings)
    assert not (files / "out.parquet").exists()
