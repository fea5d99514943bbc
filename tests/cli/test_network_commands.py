"""`discreet fit network` and `discreet show` of what it wrote: words, files, and codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from experiments.paper_asia import paper_asia
from typer.testing import CliRunner

from discreet.cli import app
from discreet.models.bif import write_bif
from discreet.randomness import seeded


def call(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "100"})


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    codes = paper_asia().sample(500, seeded(1))
    frame = pd.DataFrame({node: np.array(("1", "2"))[code] for node, code in codes.items()})
    frame.assign(patient=np.arange(500)).to_csv(tmp_path / "visits.csv", index=False)
    write_bif(paper_asia(), tmp_path / "asia.bif")
    return tmp_path / "visits.csv"


def fit(visits: Path, *more: object) -> Any:
    folder = visits.parent
    budget = ("--epsilon", 1, "--delta", 1e-6, "--out", folder / "out")
    return call("fit", "network", visits, "--structure", folder / "asia.bif", *budget, *more)


def test_a_fit_prints_its_guarantee_what_it_wrote_and_what_is_left(visits: Path) -> None:
    book = visits.parent / "ledger"
    assert call("ledger", "new", book, "--dataset", "asia", "--epsilon", 4, "--delta", 1e-5).exit_code == 0
    before = book.read_bytes()
    foreseen = fit(visits, "--person", "patient", "--ledger", book, "--dry-run")
    assert foreseen.exit_code == 0, foreseen.stderr
    assert "nothing was spent" in foreseen.stdout and "counts of 6 families" in foreseen.stdout
    assert book.read_bytes() == before and not (visits.parent / "out").exists()
    done = fit(visits, "--person", "patient", "--ledger", book)
    assert done.exit_code == 0, done.stderr
    for words in (
        "all rows of one person",
        "network.bif",
        "Left in the ledger",
        "standard error of about 10",
    ):
        assert words in done.stdout
    shown = call("show", visits.parent / "out")
    assert shown.exit_code == 0, shown.stderr
    assert (
        "A Bayesian network: 8 nodes, 8 edges, 36 cells" in shown.stdout
        and "likeliest states" in shown.stdout
    )


def test_machines_get_json(visits: Path) -> None:
    seen = json.loads(fit(visits, "--dry-run", "--json").stdout)
    assert seen["private"] and seen["columns"] == list("ASTLBEXD")
    done = json.loads(fit(visits, "--json").stdout)
    assert done["model"]["tables"]["A"][0] == pytest.approx(0.99, abs=0.2)
    assert json.loads(call("show", visits.parent / "out", "--json").stdout)["model"] == done["model"]


def test_refusals_end_with_code_two_and_name_options(visits: Path) -> None:
    for more, words in (
        (("--rows-per-person", 2), "--rows-per-person bounds nobody"),
        (("--prior", 0), "prior is out of range"),
        (("--missing", "maybe"), "no such rule for missing values"),
        (("--person", "nobody"), "no column 'nobody'"),
    ):
        refused = fit(visits, *more)
        assert refused.exit_code == 2
        assert words.lower() in " ".join(refused.stderr.split()).lower()
    lost = call("fit", "network", visits, "--epsilon", 1, "--delta", 1e-6)
    assert lost.exit_code == 2 and "tructure is not given" in lost.stderr


def test_help_has_an_example() -> None:
    told = call("fit", "network", "--help")
    assert told.exit_code == 0 and "--structure asia.bif" in told.stdout
