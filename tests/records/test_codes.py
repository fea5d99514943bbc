"""Columns of declared states: the same codes from every make of table, and refusals that tell nothing."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.errors import DataError, ParameterError
from discreet.records.batches import BATCH_ROWS, read_batches
from discreet.records.codes import check_missing, code_chunks, read_codes, read_rows
from discreet.records.ids import first_rows, id_bytes, read_ids

STATES: dict[str, tuple[str, ...]] = {
    "word": ("yes", "no"),
    "number": ("0", "-1", "12"),
    "flag": ("True", "False"),
    "odd": ("None", "NA", "12+", "<5", "Asy/Patch"),
}
FRAME = pd.DataFrame(
    {
        "id": [10, 11, 10, 12],
        "word": ["no", "yes", "no", "no"],
        "number": [12, 0, -1, 0],
        "flag": [True, False, True, True],
        "odd": ["NA", "None", "<5", "12+"],
        "secret": ["s"] * 4,
    }
)
WANTED = {"word": [1, 0, 1, 1], "number": [2, 0, 1, 0], "flag": [0, 1, 0, 0], "odd": [1, 0, 3, 2]}


def makes(folder: Path) -> dict[str, Any]:
    FRAME.to_csv(folder / "rows.csv", index=False)
    FRAME.to_parquet(folder / "rows.parquet", index=False)
    kinds = FRAME.astype({"word": "category", "odd": "category"})
    kinds["word"] = kinds["word"].cat.add_categories(["never"])
    return {
        "pandas": FRAME,
        "pandas categories, one of them unused": kinds,
        "pandas text": FRAME.astype({"word": "string"}),
        "polars": pl.from_pandas(FRAME),
        "polars categories": pl.from_pandas(FRAME).with_columns(pl.col("word").cast(pl.Categorical)),
        "arrow": pa.Table.from_pandas(FRAME),
        "arrow views": pa.table({"word": pa.array(FRAME["word"], pa.string_view())})
        .append_column("number", pa.array(FRAME["number"]))
        .append_column("flag", pa.array(FRAME["flag"]))
        .append_column("odd", pa.array(FRAME["odd"]))
        .append_column("id", pa.array(FRAME["id"])),
        "mapping": {name: FRAME[name].to_numpy() for name in FRAME},
        "mapping of numpy text": {name: FRAME[name].to_numpy().astype(str) for name in FRAME},
        "csv": str(folder / "rows.csv"),
        "parquet": folder / "rows.parquet",
    }


def test_every_make_of_table_gives_the_same_small_codes(tmp_path: Path) -> None:
    for make, source in makes(tmp_path).items():
        codes = read_codes(source, STATES)
        assert {name: column.tolist() for name, column in codes.items()} == WANTED, make
        assert {column.dtype for column in codes.values()} == {np.dtype(np.int8)}, make
        assert read_ids(source, "id") == [b"10", b"11", b"10", b"12"], make
        assert first_rows(source, "id", 1).tolist() == [True, True, False, True], make


def test_states_may_be_declared_as_numbers() -> None:
    assert read_codes({"n": np.array([7, 5, 7])}, {"n": (5, 7)})["n"].tolist() == [1, 0, 1]
    assert read_codes({"n": np.array([7.0, 5.0])}, {"n": (5, 7)})["n"].tolist() == [1, 0]
    assert read_codes({"n": np.array(["7", "5"])}, {"n": (5, 7)})["n"].tolist() == [1, 0]


def test_many_states_get_wider_codes() -> None:
    states = {"n": tuple(map(str, range(1000)))}
    codes = read_codes({"n": np.arange(1000)}, states)["n"]
    assert codes.dtype == np.int16
    assert (codes == np.arange(1000)).all()


@pytest.mark.parametrize(
    "values",
    [
        ["yes", "PRIVATE"],
        [1, 2],
        [1.5, 2.5],
        [True, False],
        pd.Categorical(["yes", "PRIVATE"]),
        [b"PRIVATE", b"x"],
    ],
)
@pytest.mark.parametrize("missing", ["refuse", "drop", "no"])
def test_a_value_that_is_not_declared_is_refused_and_not_told(values: Any, missing: str) -> None:
    with pytest.raises(DataError, match=r"not among its declared states|cannot hold states") as refused:
        read_codes({"a": values}, {"a": ("yes", "no")}, missing=missing)
    assert "PRIVATE" not in str(refused.value) and "1.5" not in str(refused.value)
    assert refused.value.__context__ is None or refused.value.__suppress_context__


def test_an_undeclared_value_hides_behind_no_missing_one(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a\nyes\n\nPRIVATE\n")
    for missing in ("refuse", "drop"):
        with pytest.raises(DataError) as refused:
            read_codes(tmp_path / "rows.csv", {"a": ("yes", "no")}, missing=missing)
        assert "PRIVATE" not in str(refused.value)


def test_missing_values_follow_the_declared_rule(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["x", None, "y"], "b": ["u", "u", None], "id": ["p", "q", "r"]})
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    frame.to_parquet(tmp_path / "gaps.parquet", index=False)
    states = {"a": ("x", "y", "none"), "b": ("u", "none")}
    for source in (frame, frame.astype({"a": "category"}), tmp_path / "gaps.csv", tmp_path / "gaps.parquet"):
        with pytest.raises(DataError, match="missing value"):
            read_codes(source, states)
        codes, ids = read_rows(source, states, "id", missing="drop")
        assert ({name: column.tolist() for name, column in codes.items()}, ids) == (
            {"a": [0], "b": [0]},
            [b"p"],
        )
        filled = read_codes(source, states, missing="none")
        assert {name: column.tolist() for name, column in filled.items()} == {"a": [0, 2, 1], "b": [0, 0, 1]}
        with pytest.raises(DataError, match="missing value"):  # declared for one column only
            read_codes(source, {"a": ("x", "y", "gap"), "b": ("u", "v")}, missing="gap")


def test_a_word_that_is_declared_is_no_missing_value(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text('a,b\nNA,NA\n?,\n"None",x\n')
    codes = read_codes(tmp_path / "rows.csv", {"a": ("NA", "?", "None"), "b": ("x",)}, missing="drop")
    assert {name: column.tolist() for name, column in codes.items()} == {"a": [2], "b": [0]}


@pytest.mark.parametrize(
    ("states", "missing"),
    [
        ({}, "drop"),
        ({"a": ("x", "x")}, "drop"),
        ({"a": ()}, "drop"),
        ({"a": "xy"}, "drop"),
        ({"a": ("x",)}, "z"),
    ],
)
def test_declarations_that_make_no_sense_are_refused(states: Any, missing: str) -> None:
    with pytest.raises(ParameterError):
        read_codes({"a": ["x"]}, states, missing=missing)
    assert check_missing({"a": ("x",)}, "x") == "x"


def test_columns_that_are_missing_twice_or_of_other_lengths_are_refused() -> None:
    for source in (
        {"b": ["x"]},
        pd.DataFrame([["x", "x"]], columns=["a", "a"]),
        {"a": ["x"], "b": ["x", "x"]},
        {"a": ["x", 1], "b": ["x", "x"]},
        np.zeros((2, 2)),
    ):
        with pytest.raises(DataError):
            read_codes(source, {"a": ("x",), "b": ("x",)})


def test_chunks_skip_the_rows_that_are_not_kept() -> None:
    values = np.arange(200_000) % 3
    keep = np.arange(200_000) % 7 == 0
    chunks = [codes["n"] for codes, _ in code_chunks({"n": values}, {"n": (0, 1, 2)}, keep=keep)]
    assert len(chunks) == -(-200_000 // BATCH_ROWS)
    assert (np.concatenate(chunks) == values[keep]).all()
    for wrong in (keep[:-1], np.append(keep, True)):
        with pytest.raises(DataError, match="ids are not as many"):
            list(code_chunks({"n": values}, {"n": (0, 1, 2)}, keep=wrong))


def test_ids_are_text_or_whole_numbers_and_never_missing(tmp_path: Path) -> None:
    assert read_ids({"id": ["ä", "b"]}, "id") == ["ä".encode(), b"b"]
    assert read_ids({"id": np.array([7, 8])}, "id") == read_ids({"id": ["7", "8"]}, "id")
    (tmp_path / "ids.csv").write_text('id,x\n07,1\n"",2\n')
    for source in ({"id": ["a", None]}, {"id": [1.5, 2.5]}, tmp_path / "ids.csv"):
        with pytest.raises(DataError):
            read_ids(source, "id")
    with pytest.raises(DataError):
        first_rows(tmp_path / "ids.csv", "id", 1)
    assert id_bytes(pa.array(["07"]), "id") == [b"07"]


def test_the_first_rows_of_a_person_depend_on_nobody_else() -> None:
    ids = np.random.default_rng(0).integers(0, 40, 500)
    kept = first_rows({"id": ids}, "id", 3)
    for person in range(40):
        assert np.flatnonzero(kept & (ids == person)).tolist() == np.flatnonzero(ids == person)[:3].tolist()
    for limit in (0, 1.5, True):
        with pytest.raises(ParameterError):
            first_rows({"id": ids}, "id", limit)  # pyright: ignore
    assert first_rows({"id": np.zeros(0, dtype=int)}, "id", 1).size == 0


def test_batches_name_the_columns_that_were_asked_for(tmp_path: Path) -> None:
    for source in makes(tmp_path).values():
        for batch, _ in read_batches(source, ["odd", "id"]):
            assert batch.schema.names == ["odd", "id"]


def test_memory_is_bounded_by_the_batch(tmp_path: Path) -> None:
    """Streaming a file of two million codes takes a few megabytes of Python's memory, not tens."""
    rows = 2_000_000
    table = pa.table({"a": pa.array(np.random.default_rng(0).integers(0, 3, rows))})
    import pyarrow.parquet as pq

    pq.write_table(table, tmp_path / "long.parquet", row_group_size=rows)
    seen = 0
    tracemalloc.start()
    for codes, _ in code_chunks(tmp_path / "long.parquet", {"a": (0, 1, 2)}):
        seen += len(codes["a"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seen == rows
    assert peak < 16 * 2**20
