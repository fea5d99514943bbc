"""One table, every kind of source, every cut, every number of workers: the same integers."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.records import LocalEngine, open_records, prepare
from discreet.records import memory as memory_room

GRID = 2**20


def exact(chunk, broadcast):
    """First and second moments on a grid, each row rounded before it is summed."""
    values = np.clip(chunk.values, -1, 1)
    weights = 1.0 if chunk.weights is None else chunk.weights
    moments = np.concatenate([np.ones((1, values.shape[1])), values, values[:1] * values])
    whole = np.rint(moments * weights * broadcast)
    return {"sum": whole.sum(axis=1).astype(np.int64), "rows": np.array([values.shape[1]])}


def totals(source, engine, **options):
    found = open_records(source, columns=["a", "b"], **options).map_reduce(exact, GRID, engine)
    return found["sum"].tolist(), found["rows"].tolist()


@st.composite
def tables(draw):
    rows = draw(st.integers(1, 120))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    people = rng.integers(0, draw(st.integers(1, 60)), rows)
    if draw(st.booleans()):
        people = np.sort(people)
    values = rng.normal(size=(2, rows))
    values[:, 1:][rng.random((2, rows - 1)) < draw(st.sampled_from([0, 0.2]))] = np.nan
    ids = people if draw(st.booleans()) else np.array([f"p{person}" for person in people])
    return pd.DataFrame({"user": ids, "a": values[0], "b": values[1]})


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    table=tables(),
    size=st.integers(1, 50),
    part=st.integers(1, 200),
    workers=st.integers(1, 4),
    bound=st.sampled_from([None, 1.0, 2.5]),
    data=st.data(),
)
def test_totals_are_the_same_integers_for_any_source_cut_and_number_of_workers(
    table, size, part, workers, bound, data, tmp_path_factory, monkeypatch
):
    folder = tmp_path_factory.mktemp("totals")
    people = {} if bound is None else {"person": "user", "rows_per_person": bound}
    expected = totals(table, LocalEngine(1), missing="drop", **people)
    with monkeypatch.context() as patch:
        patch.setattr(memory_room, "PART_ROWS", part)
        engine = LocalEngine(workers)
        for source in sources(table, size, folder):
            assert totals(source, engine, missing="drop", **people) == expected
        ids = {} if bound is None else {"person": table["user"], "rows_per_person": bound}
        array = open_records(table[["a", "b"]].to_numpy(), missing="drop", **ids)
        assert array.map_reduce(exact, GRID, engine)["sum"].tolist() == expected[0]
        prepare(table, "user", folder / "prepared", buckets=data.draw(st.integers(1, 6)))
        assert totals(folder / "prepared", engine, missing="drop", **people) == expected


def sources(table, size, folder):
    cut = len(table) // 3
    yield pl.from_pandas(table)
    yield pa.Table.from_batches(pa.Table.from_pandas(table).to_batches(max_chunksize=size))
    table.to_parquet(folder / "all.parquet", row_group_size=size)
    yield folder / "all.parquet"
    # 17 digits, so that text gives back the same numbers
    table[:cut].to_csv(folder / "1.csv", index=False, float_format="%.17g")
    table[cut:].to_csv(folder / "2.csv", index=False, float_format="%.17g")
    yield [folder / "1.csv", folder / "2.csv"] if cut else folder / "2.csv"


@pytest.fixture
def gowalla():
    home = Path(os.environ.get("DISCREET_DATA", "../shared/data"))
    path = home / "location" / "gowalla_nyc.parquet"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    return path


def test_real_check_ins_weigh_one_a_person(gowalla, tmp_path):
    prepare(gowalla, "user", tmp_path / "prepared")
    found = [
        open_records(source, columns=["lat", "lon"], person="user").map_reduce(weigh, None)
        for source in (gowalla, tmp_path / "prepared")
    ]
    assert found[0]["sum"].tolist() == found[1]["sum"].tolist()
    users = len(set(pq.read_table(gowalla, columns=["user"])["user"].to_pylist()))
    assert found[0]["weight"][0] == pytest.approx(users)


def weigh(chunk, broadcast):
    whole = np.rint(chunk.values * chunk.weights * 2**20).astype(np.int64)
    return {"sum": whole.sum(axis=1), "weight": np.array([chunk.weights.sum()])}
