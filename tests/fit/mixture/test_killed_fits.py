"""A fit that is killed at any instant has never released anything that the ledger does not show."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.accounting.ledger import Ledger

# Imports once, then forks a child for each kill: the child fits again and again, and writes to a pipe as
# soon as a noisy vector exists; the parent kills it after a random time.
SCRIPT = """
import json, os, random, signal, sys, time
import numpy as np
from discreet.accounting.ledger import Ledger
from discreet.fit import GaussianMixture
from discreet.fit.mixture.request import plan
from discreet.fit.mixture.run import run
from discreet.records import LocalEngine

path, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
rows = np.random.default_rng(0).normal(size=(3000, 2))
model = GaussianMixture(2, epsilon=0.001, delta=1e-9, radius=4.0, dataset="rows", engine=LocalEngine(1))
model.fit  # everything is imported here, before the forks
GaussianMixture(2, epsilon=1.0, delta=1e-6, radius=4.0).fit(rows)
announced = 0
for _ in range(kills):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        ledger = Ledger.open(path)
        model.ledger = ledger
        while True:
            first = []
            def listen(grid, layout, noisy):
                if not first:
                    first.append(True)
                    os.write(writer, b"x")
            run(model._request(), rows, listen=listen)
    os.close(writer)
    time.sleep(draw.uniform(0.01, 0.25))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while piece := os.read(reader, 65536):
        announced += len(piece)
    os.close(reader)
print(json.dumps(announced))
"""


@pytest.mark.slow
def test_killed_fits_leave_no_unrecorded_release(tmp_path: Path) -> None:
    kills = 200 if os.environ.get("DISCREET_LONG") == "1" else 25
    path = tmp_path / "rows.ledger"
    ledger = Ledger.create(path)
    ledger.budget("rows", "row", 5.0, 1e-6)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path), str(kills), "1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    announced = json.loads(done.stdout)
    again = Ledger.open(path)
    again.verify()
    runs = again.left("rows").runs
    assert announced > kills / 4, "the kills came too early to test anything"
    assert runs >= announced
    assert runs - announced <= kills, "a kill can waste at most the run that was under way"
