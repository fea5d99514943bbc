import decimal
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import DataError, DomainError, ParameterError
from discreet.records import open_records

SECRET = "zanzibar"


def frame():
    return pd.DataFrame(
        {
            "user": ["b", "a", "b", "c"],
            "lat": [1.5, 2.5, 3.5, 4.5],
            "hits": np.array([1, 2, 3, 4], dtype=np.uint16),
            "note": [SECRET, "x", "y", "z"],
            "paid": [True, False, True, True],
        }
    )


MAKES = {
    "pandas": lambda frame, tmp: frame,
    "polars": lambda frame, tmp: pl.from_pandas(frame),
    "arrow": lambda frame, tmp: pa.Table.from_pandas(frame),
    "batch": lambda frame, tmp: pa.RecordBatch.from_pandas(frame),
    "chunked": lambda frame, tmp: pa.concat_tables(
        [
            pa.Table.from_pandas(frame[:1], schema=pa.Schema.from_pandas(frame)),
            pa.Table.from_pandas(frame[1:]),
        ]
    ),
    "parquet": lambda frame, tmp: write(frame, tmp / "t.parquet"),
    "csv": lambda frame, tmp: write(frame, tmp / "t.csv"),
}


def write(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    return path


@pytest.fixture(params=list(MAKES))
def make(request, tmp_path):
    return lambda frame: MAKES[request.param](frame, tmp_path)


def read(records):
    chunks = [chunk for part in records.parts for chunk in part.chunks()]
    weights = None if chunks[0].weights is None else np.concatenate([c.weights for c in chunks]).tolist()
    return np.concatenate([chunk.values for chunk in chunks], axis=1).tolist(), weights


def test_columns_are_read_in_the_order_asked_for(make):
    records = open_records(make(frame()), columns=["hits", "lat"])
    assert records.names == ("hits", "lat")
    assert read(records) == ([[1, 2, 3, 4], [1.5, 2.5, 3.5, 4.5]], None)


def test_by_default_all_numbers_but_the_person_are_read(make, request):
    if "csv" in request.node.name:
        return  # a CSV file declares no types: see test_paths
    numbers = frame()[["lat", "hits", "note"]].assign(user=[2, 1, 2, 3])
    assert open_records(make(numbers)).names == ("lat", "hits", "user")
    records = open_records(make(numbers), person="user")
    assert records.names == ("lat", "hits") and records.person == "user"


def test_rows_are_grouped_by_person(make):
    values, weights = read(open_records(make(frame()), columns=["lat"], person="user"))
    assert values == [[1.5, 3.5, 2.5, 4.5]]
    assert weights == [0.5, 0.5, 1, 1]


def test_integer_ids_and_ids_that_are_text_weigh_the_same(make):
    table = frame().assign(user=[2, 1, 2, 3])
    values, weights = read(open_records(make(table), columns=["lat"], person="user"))
    assert (values, weights) == ([[1.5, 3.5, 2.5, 4.5]], [0.5, 0.5, 1, 1])


def test_text_is_refused_by_name_and_type_but_not_by_value(make):
    with pytest.raises(DataError, match=r"column 'note'.*not made of numbers") as caught:
        open_records(make(frame()), columns=["lat", "note"]).check()
    assert SECRET not in str(caught.value)


def test_a_missing_column_is_named_with_those_there_are(make):
    with pytest.raises(DataError, match=r"no column 'lon'.*'user', 'lat', 'hits', 'note', 'paid'"):
        open_records(make(frame()), columns=["lat", "lon"])
    with pytest.raises(DataError, match=r"no column 'person'.*'user', 'lat'"):
        open_records(make(frame()), columns=["lat"], person="person")


@pytest.mark.parametrize(
    ("columns", "person", "error", "words"),
    [
        (["lat", "lat"], None, DomainError, "twice"),
        (["lat", "user"], "user", DomainError, "both a person and a number"),
        ("lat", None, ParameterError, "list of names"),
        ([0], None, ParameterError, "list of names"),
        ([], None, ParameterError, "no column"),
        (["lat"], [1, 2, 3, 4], ParameterError, "name of a column"),
    ],
)
def test_requests_that_make_no_sense_are_refused(make, columns, person, error, words):
    with pytest.raises(error, match=words):
        open_records(make(frame()), columns=columns, person=person)


def test_a_person_column_of_floats_is_refused(make):
    source = make(frame().assign(user=[1.5, 2.5, 1.5, 0.5]))
    if str(source).endswith(".csv"):
        pytest.skip("ids in CSV files are text")
    with pytest.raises(DataError, match=r"'user' cannot tell people apart; got 'double'"):
        open_records(source, columns=["lat"], person="user")


def test_missing_ids_are_refused(make):
    table = frame().assign(user=["b", None, "b", "c"])
    with pytest.raises(DataError, match="'user' has missing ids"):
        open_records(make(table), columns=["lat"], person="user").check()


@pytest.mark.parametrize("person", [None, "user"])
def test_missing_values_are_refused_or_dropped(make, person):
    table = frame().assign(lat=[1.5, None, 3.5, None])
    with pytest.raises(DataError, match="'lat' has missing values"):
        open_records(make(table), columns=["hits", "lat"], person=person).check()
    values, weights = read(open_records(make(table), columns=["hits", "lat"], person=person, missing="drop"))
    assert values == [[1, 3], [1.5, 3.5]]
    assert weights == (None if person is None else [0.5, 0.5])


@pytest.mark.parametrize("person", [None, "user"])
def test_infinite_numbers_are_refused(make, person):
    table = frame().assign(lat=[1.5, np.inf, 3.5, 1])
    with pytest.raises(DataError, match="'lat' holds infinite numbers"):
        open_records(make(table), columns=["lat"], person=person, missing="drop").check()


def test_no_rows_are_refused(make):
    with pytest.raises(DataError, match="no rows"):
        open_records(make(frame()[:0]), columns=["lat"])


def test_no_numbers_are_refused(make):
    with pytest.raises((DataError, DomainError), match=r"no column holds numbers|not named"):
        open_records(make(frame()[["user", "note"]]))


ARRAYS = {
    "decimal": pa.array([decimal.Decimal("1.25"), decimal.Decimal("-2.50")]),
    "bool": pa.array([True, False]),
    "half": pa.array(np.array([1.5, -2], dtype=np.float16)),
    "float": pa.array([1.5, -2], pa.float32()),
    "uint64": pa.array([2**64 - 1, 0], pa.uint64()),
    "int64": pa.array([-(2**63), 2**53 + 1]),
}


@pytest.mark.parametrize("person", [None, "user"])
@pytest.mark.parametrize("name", list(ARRAYS))
@pytest.mark.parametrize("where", ["memory", "parquet"])
def test_all_kinds_of_numbers_become_float64(name, where, person, tmp_path):
    table = pa.table({"value": ARRAYS[name], "user": [1, 2]})
    gap = pa.table(
        {"value": pa.concat_arrays([ARRAYS[name], pa.nulls(1, ARRAYS[name].type)]), "user": [1, 2, 3]}
    )
    expected = [[float(value) for value in ARRAYS[name].to_pylist()]]
    for source in (table, gap):
        if where == "parquet":
            pq.write_table(source, tmp_path / "t.parquet")
        opened = open_records(
            tmp_path / "t.parquet" if where == "parquet" else source,
            columns=["value"],
            person=person,
            missing="drop",
        )
        assert read(opened)[0] == expected


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["1"]),
        pa.array([0], pa.timestamp("ms")),
        pa.array([0], pa.date32()),
        pa.array(["1"]).dictionary_encode(),
        pa.array([[1.0]]),
        pa.nulls(1),
        pa.array([b"1"]),
    ],
    ids=lambda array: str(array.type),
)
@pytest.mark.parametrize("where", ["memory", "parquet"])
def test_other_types_are_refused_by_name(array, where, tmp_path):
    table = pa.table({"a": [1.0], "when": array})
    if where == "parquet":
        pq.write_table(table, tmp_path / "t.parquet")
        table = tmp_path / "t.parquet"
    kind = re.escape(str(array.type).partition("<")[0])
    with pytest.raises(DataError, match=f"column 'when' is not made of numbers; got '{kind}"):
        open_records(table, columns=["a", "when"])
    assert open_records(table).names == ("a",)


def test_pandas_extension_types_are_read():
    table = pd.DataFrame(
        {
            "a": pd.array([1, None], "Int32"),
            "b": pd.array([1.5, None], "Float64"),
            "c": pd.array([True, None], "boolean"),
            "d": pd.array([2, None], pd.ArrowDtype(pa.int8())),
            "e": [decimal.Decimal("0.5"), None],
            "f": pd.Categorical(["u", "v"]),
        }
    )
    assert open_records(table).names == ("a", "b", "c", "d")
    records = open_records(table, columns=list("abcde"), person="f", missing="drop")
    assert read(records) == ([[1], [1.5], [1], [2], [0.5]], [1])


def test_pandas_labels_that_are_numbers_are_named_by_their_digits():
    table = pd.DataFrame(np.array([[1.0, 2.0]]), columns=[10, 20])
    assert open_records(table).names == ("10", "20")
    assert read(open_records(table, columns=["20"]))[0] == [[2]]


def test_pandas_columns_of_mixed_types_are_refused_without_their_values():
    table = pd.DataFrame({"a": pd.Series([1.0, SECRET], dtype=object)})
    with pytest.raises(DataError, match="'a' mixes types") as caught:
        open_records(table, columns=["a"])
    assert SECRET not in str(caught.value)


def test_names_that_stand_twice_are_refused():
    twice = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "a", "b"])
    for table in (twice, pa.table([[1.0], [2.0], [3.0]], names=["a", "a", "b"])):
        with pytest.raises(DataError, match="more than one column 'a'"):
            open_records(table, columns=["a"])
        assert read(open_records(table, columns=["b"]))[0] == [[3]]


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        (pl.LazyFrame({"a": [1.0]}), "collect"),
        (pa.RecordBatchReader.from_batches(pa.schema([]), []), "read_all"),
        (pd.Series([1.0]), "DataFrame"),
        (pa.array([1.0]), "DataFrame"),
    ],
    ids=lambda source: type(source).__name__,
)
def test_sources_that_cannot_be_read_several_times_are_refused_with_a_remedy(source, remedy):
    with pytest.raises(DataError, match=remedy):
        open_records(source)


def test_tables_in_crumbs_are_not_read_crumb_by_crumb():
    table = pa.table({"a": pa.chunked_array([[float(value)] for value in range(500)])})
    records = open_records(table)
    assert sum(1 for part in records.parts for _ in part.chunks()) == 1
    assert read(records)[0] == [list(range(500))]


def test_columns_of_plain_numbers_are_not_copied():
    values = np.arange(1000.0)
    for table in (pd.DataFrame({"a": values}, copy=False), pa.table({"a": values})):
        part = open_records(table).parts[0]
        assert np.shares_memory(part.lines[0], values)
