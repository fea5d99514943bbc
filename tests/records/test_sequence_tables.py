"""Sequences out of tables: brought together, in order, owned by people; refused by name, never by value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import DataError, DomainError, ParameterError, PersonError, TooLargeError
from discreet.records import Roles, SequenceTable, read_sequences

SECRET = "hapax"
FORMS = ("pandas", "polars", "arrow", "parquet", "csv", "csv.gz", "files")


def visits() -> pd.DataFrame:
    """Three sequences of two people; rows are out of order, and stay so in the file."""
    return pd.DataFrame(
        {
            "trip": [7, 3, 7, 9, 3, 7, 9],
            "time": [30, 1, 10, 5, 2, 20, 4],
            "who": ["b", "a", "b", "a", "a", "b", "a"],
            "place": [2, 0, 0, 3, 1, 1, 4],
            "name": ["c", "a", "a", "d", "b", "b", "e"],
            "x": [0.2, 0.0, 0.0, 0.3, 0.1, 0.1, 0.4],
            "y": [2.0, 0.0, 0.0, 3.0, 1.0, 1.0, 4.0],
            "hidden": [1, 0, 0, 1, 1, 0, -1],
        }
    )


def shaped(form: str, frame: pd.DataFrame, folder: Path) -> Any:
    """The same rows as a frame, a table or files."""
    if form == "pandas":
        return frame
    if form == "polars":
        return pl.from_pandas(frame)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if form == "arrow":
        return table
    if form == "parquet":
        pq.write_table(table, folder / "rows.parquet")
        return folder / "rows.parquet"
    if form == "files":
        for part in range(2):
            pq.write_table(table.slice(4 * part, 4), folder / f"part{part}.parquet")
        return str(folder / "part*.parquet")
    frame.to_csv(folder / f"rows.{form}", index=False)
    return folder / f"rows.{form}"


def read(source: Any, **roles: Any) -> SequenceTable:
    return read_sequences(source, Roles(**roles))


@pytest.mark.parametrize("form", FORMS)
def test_rows_of_a_sequence_are_brought_together_and_put_in_order(form: str, tmp_path: Path) -> None:
    source = shaped(form, visits(), tmp_path)
    roles = {"sequence": "trip", "order": "time", "person": "who", "states": "hidden"}
    found = read(source, columns=["place"], symbols=5, **roles)
    assert found.rows[:, 0].tolist() == [0, 1, 2, 0, 1, 4, 3]
    assert found.lengths.tolist() == [3, 2, 2]
    assert found.people is not None and found.people.tolist() == [0, 1, 1]
    assert found.states is not None and found.states.tolist() == [0, 0, 1, 0, 1, -1, 1]
    points = read(source, columns=["x", "y"], sequence="trip", order="time")
    assert points.rows.dtype == np.float64
    assert points.rows.tolist() == [[v / 10, float(v)] for v in (0, 1, 2, 0, 1, 4, 3)]
    assert points.people is None and points.states is None
    named = read(source, columns=["name"], sequence="trip", order="time", symbols=["e", "d", "c", "b", "a"])
    assert named.rows[:, 0].tolist() == [4, 3, 2, 4, 3, 0, 1]


@pytest.mark.parametrize("form", FORMS)
def test_without_an_order_rows_stay_as_they_lie_and_without_a_sequence_a_person_is_one(
    form: str, tmp_path: Path
) -> None:
    source = shaped(form, visits(), tmp_path)
    assert read(source, columns=["place"], sequence="trip", symbols=5).rows[:, 0].tolist() == [
        2,
        0,
        1,
        0,
        1,
        3,
        4,
    ]
    found = read(source, columns=["place"], person="who", order="time", symbols=5)
    assert found.lengths.tolist() == [3, 4]
    assert found.people is not None and found.people.tolist() == [0, 1]
    assert found.rows[:, 0].tolist() == [0, 1, 2, 0, 1, 4, 3]


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow", "parquet", "files"])
def test_a_column_of_lists_holds_one_sequence_a_row(form: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"who": [1, 2, 1, 1, 2], "steps": [[0, 1, 2], [3], [0, 4], [1], [2, 2]]})
    found = read(shaped(form, frame, tmp_path), columns=["steps"], person="who", symbols=5)
    assert found.rows[:, 0].tolist() == [0, 1, 2, 3, 0, 4, 1, 2, 2]
    assert found.lengths.tolist() == [3, 1, 2, 1, 2]
    assert found.people is not None and found.people.tolist() == [0, 1, 0, 0, 1]
    alone = read(shaped(form, frame, tmp_path), person="who", symbols=5)
    assert alone.names == ("steps",) and alone.lengths.tolist() == [3, 1, 2, 1, 2]


@pytest.mark.parametrize(
    "times",
    [
        pd.to_datetime(["2024-03-01", "2024-01-01", "2024-02-01"]),
        ["2024-03-01", "2024-01-01", "2024-02-01"],
        ["10", "2", "9"],
        [1.5, -2.0, 0.0],
        [2**62 + 2, 2**62, 2**62 + 1],
        [
            pd.Timestamp("2024-03-01").date(),
            pd.Timestamp("2024-01-01").date(),
            pd.Timestamp("2024-02-01").date(),
        ],
    ],
    ids=["timestamps", "dates in text", "numbers in text", "floats", "large integers", "dates"],
)
@pytest.mark.parametrize("form", ["pandas", "parquet", "csv"])
def test_times_of_every_kind_put_rows_in_order(times: Any, form: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"s": [1, 1, 1], "t": times, "v": [2, 0, 1]})
    found = read(shaped(form, frame, tmp_path), columns=["v"], sequence="s", order="t", symbols=3)
    assert found.rows[:, 0].tolist() == [0, 1, 2]


def test_categories_are_read_by_their_names_and_never_by_their_own_numbers() -> None:
    frame = pd.DataFrame({"s": [1, 1, 1], "v": pd.Categorical(["b", "c", "b"])})
    assert read(frame, columns=["v"], sequence="s", symbols=["a", "b", "c"]).rows[:, 0].tolist() == [1, 2, 1]


def test_names_may_be_numbers() -> None:
    frame = pd.DataFrame({"s": [1, 1, 1], "v": [6, 1, 3]})
    dice = [str(face) for face in range(1, 7)]
    assert read(frame, columns=["v"], sequence="s", symbols=dice).rows[:, 0].tolist() == [5, 0, 2]


def test_rows_at_the_same_time_keep_their_order() -> None:
    frame = pd.DataFrame({"s": [1, 2] * 50, "t": [0] * 100, "v": np.arange(100)})
    found = read(frame, columns=["v"], sequence="s", order="t", symbols=100)
    assert found.rows[:, 0].tolist() == [*range(0, 100, 2), *range(1, 100, 2)]


def spoilt(**changes: Any) -> pd.DataFrame:
    """The visits with whole columns, or one value of a column, replaced."""
    frame = visits()
    for name, value in changes.items():
        if isinstance(value, list):
            frame[name] = value
        else:
            frame[name] = frame[name].astype(object)
            frame.loc[4, name] = value
            frame[name] = frame[name].infer_objects()
    return frame


BAD_TABLES: dict[str, tuple[pd.DataFrame, dict[str, Any], type[Exception], str]] = {
    "nothing says which sequence": (visits(), {}, ParameterError, "which sequence a row belongs to"),
    "a symbol is missing": (spoilt(place=None), {"sequence": "trip"}, DataError, "'place'"),
    "a symbol is text": (spoilt(place=["a"] * 7), {"sequence": "trip"}, DataError, "'place' are not whole"),
    "a symbol is a fraction": (
        spoilt(place=[0.5] * 7),
        {"sequence": "trip"},
        DataError,
        "'place' are not whole",
    ),
    "a symbol is too large": (spoilt(place=5), {"sequence": "trip"}, DataError, "'place' is out of range"),
    "a symbol is negative": (spoilt(place=-1), {"sequence": "trip"}, DataError, "'place' is out of range"),
    "a symbol is not declared": (
        spoilt(name=SECRET),
        {"columns": ["name"], "symbols": list("abcde"), "sequence": "trip"},
        DataError,
        "'name' has a symbol that is not declared",
    ),
    "a number is missing": (
        spoilt(x=np.nan),
        {"columns": ["x", "y"], "symbols": None, "sequence": "trip"},
        DataError,
        "'x' has a value that is missing or not finite",
    ),
    "a number is infinite": (
        spoilt(y=np.inf),
        {"columns": ["x", "y"], "symbols": None, "sequence": "trip"},
        DataError,
        "'y' has a value that is missing or not finite",
    ),
    "a number is text": (
        spoilt(x=[SECRET] * 7),
        {"columns": ["x", "y"], "symbols": None, "sequence": "trip"},
        DataError,
        "'x' .*is not made of numbers|column 'x' is not made of numbers",
    ),
    "a sequence has no id": (spoilt(trip=None), {"sequence": "trip"}, DataError, "sequence column 'trip'"),
    "a person has no id": (
        spoilt(who=None),
        {"sequence": "trip", "person": "who"},
        DataError,
        "person column 'who'",
    ),
    "a time is missing": (
        spoilt(time=None),
        {"sequence": "trip", "order": "time"},
        DataError,
        "'time' has missing values",
    ),
    "a time is a word": (
        spoilt(time=[SECRET] * 7),
        {"sequence": "trip", "order": "time"},
        DataError,
        "'time' cannot put rows in order",
    ),
    "a sequence of two people": (
        spoilt(who="b"),
        {"sequence": "trip", "person": "who"},
        PersonError,
        "'trip' has rows of several persons in column 'who'",
    ),
    "a state is a word": (
        spoilt(hidden=[SECRET] * 7),
        {"sequence": "trip", "states": "hidden"},
        DataError,
        "'hidden' are not whole numbers",
    ),
    "a state is a fraction": (
        spoilt(hidden=0.5),
        {"sequence": "trip", "states": "hidden"},
        DataError,
        "'hidden' are not whole numbers",
    ),
    "no such column": (visits(), {"columns": ["plaice"], "sequence": "trip"}, DataError, "'plaice'"),
    "no such sequence column": (visits(), {"sequence": "tripp"}, DataError, "'tripp'"),
    "one column in two roles": (visits(), {"sequence": "place"}, DomainError, "'place' is named twice"),
    "symbols in two columns": (
        visits(),
        {"columns": ["place", "hidden"], "sequence": "trip"},
        DomainError,
        "symbols lie in one column",
    ),
    "no rows in a table": (visits().iloc[:0], {"sequence": "trip"}, DataError, "no rows"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
@pytest.mark.parametrize("form", ["pandas", "polars", "parquet", "csv"])
def test_bad_tables(case: str, form: str, tmp_path: Path) -> None:
    frame, roles, error, words = BAD_TABLES[case]
    source = shaped(form, frame, tmp_path)
    with pytest.raises(error, match=words) as caught:
        read(source, **{"columns": ["place"], "symbols": 5, **roles})
    assert SECRET not in str(caught.value)


BAD_LISTS: dict[str, tuple[dict[str, Any], dict[str, Any], type[Exception], str]] = {
    "an empty list": ({"v": [[1], []]}, {}, DataError, "a sequence in column 'v' is empty"),
    "a list is missing": ({"v": [[1], None]}, {}, DataError, "'v' has missing values"),
    "a symbol in a list is missing": ({"v": [[1, None], [0]]}, {}, DataError, "'v' has missing values"),
    "lists of other lengths": (
        {"v": [[1, 2], [0]], "z": [[0, 0], [0, 1]]},
        {"states": "z"},
        DataError,
        "'z' are not as long",
    ),
    "lists beside plain columns": (
        {"v": [[1.0], [0.0]], "w": [1.0, 2.0]},
        {"columns": ["v", "w"], "symbols": None},
        DataError,
        "'v' holds lists, and column 'w' does not",
    ),
    "lists with a sequence column": (
        {"v": [[1], [0]], "s": [1, 2]},
        {"sequence": "s"},
        ParameterError,
        "each row is a sequence already",
    ),
    "lists of lists": (
        {"v": [[[1.0]], [[0.0]]]},
        {"symbols": None},
        DataError,
        "'v' is not made of numbers",
    ),
}


@pytest.mark.parametrize("case", BAD_LISTS)
@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_bad_lists(case: str, form: str, tmp_path: Path) -> None:
    columns, roles, error, words = BAD_LISTS[case]
    table = pa.table(columns)
    if form == "parquet":
        pq.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(error, match=words):
        read(
            table if form == "arrow" else tmp_path / "rows.parquet",
            **{"columns": ["v"], "symbols": 3, **roles},
        )


def test_columns_of_csv_files_of_sequences_must_be_named(tmp_path: Path) -> None:
    source = shaped("csv", visits(), tmp_path)
    with pytest.raises(DomainError, match="not named"):
        read(source, sequence="trip", symbols=5)


def test_a_symbol_that_means_a_missing_value_is_refused_for_csv_files(tmp_path: Path) -> None:
    source = shaped("csv", visits(), tmp_path)
    with pytest.raises(DomainError, match="means a missing value"):
        read(source, columns=["name"], sequence="trip", symbols=["NA", "b"])


@pytest.mark.parametrize("form", ["parquet", "lists", "csv"])
def test_files_of_sequences_that_are_too_large_are_refused_before_they_are_read(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if form == "lists":
        frame = pd.DataFrame({"place": [[1] * 1000]})
        source, roles = shaped("parquet", frame, tmp_path), {}
    else:
        frame = pd.DataFrame({"place": [1] * 1000, "trip": [1] * 1000})
        source, roles = shaped(form, frame, tmp_path), {"sequence": "trip"}
    assert len(read(source, columns=["place"], symbols=5, **roles).rows) == 1000
    monkeypatch.setattr("discreet.records.sequence_file.IN_MEMORY_BYTES", 999 * 8 * 5)
    if form != "csv":  # nothing but the footer is needed to refuse it
        monkeypatch.setattr("discreet.records.sequence_file.read_columns", None)
    with pytest.raises(TooLargeError, match="too large to bring the rows of each sequence together"):
        read(source, columns=["place"], symbols=5, **roles)


def test_nothing_of_a_table_shows_in_its_repr() -> None:
    assert "0" not in repr(read(visits(), columns=["place"], sequence="trip", symbols=5)).partition(" at ")[0]
