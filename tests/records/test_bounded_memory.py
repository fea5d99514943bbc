"""Peak memory is bounded by the chunk and never by the data. Measured in processes of their own."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

LONG = os.environ.get("DISCREET_LONG") == "1"
ROWS = 20_000_000 if LONG else 6_000_000

PASS = """
import sys
from pathlib import Path
import numpy as np
from discreet.records import LocalEngine, open_records, prepare

def total(chunk, broadcast):
    weights = chunk.values if chunk.weights is None else chunk.values * chunk.weights
    return {"sum": weights.sum(axis=1), "rows": np.array([chunk.values.shape[1]])}

def peak():
    # not ru_maxrss: that begins with the size of the process that forked this one
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    return int(line.split()[1]) / 1024

path, out, person, rows = sys.argv[1:]
started = peak()
if out:
    prepare(path, "user", out)
    path = out
records = open_records(path, columns=["x", "y"], person=person or None)
found = records.map_reduce(total, None, LocalEngine(2))
assert found["rows"][0] == int(rows)
print(started, peak())
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Files of many rows: small row groups, one huge row group, and one person who owns every row."""
    folder = tmp_path_factory.mktemp("large")
    piece = 1_000_000
    values = np.random.default_rng(0).normal(size=piece)
    for name, group, people in (("many", piece // 4, 50_000), ("huge", ROWS, 50_000), ("one", piece, 1)):
        user = np.arange(piece, dtype=np.int64) * 7919 % people
        table = pa.table({"user": user, "x": values, "y": values})
        if name == "huge":
            pq.write_table(
                pa.concat_tables([table] * (ROWS // piece)), folder / f"{name}.parquet", row_group_size=group
            )
            continue
        with pq.ParquetWriter(folder / f"{name}.parquet", table.schema) as writer:
            for _ in range(ROWS // piece):
                writer.write_table(table, row_group_size=group)
    return folder


def peak(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", PASS, *map(str, arguments), str(ROWS)],
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout.split()[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["many", "huge"])
def test_a_pass_by_row_takes_less_than_400_mb(large, name):
    assert peak(large / f"{name}.parquet", "", "") < 400


@pytest.mark.slow
@pytest.mark.parametrize("name", ["many", "one"])
def test_preparing_and_a_pass_by_person_take_less_than_500_mb(large, name, tmp_path):
    assert peak(large / f"{name}.parquet", tmp_path / "out", "user") < 500
