"""`discreet fit hmm` and `discreet show` of what it wrote: words, files, and codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from discreet.accounting.ledger import Ledger
from discreet.cli import app

NAMES = ("ward", "icu", "home")


def call(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "100"})


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    lengths = draw.integers(3, 10, 300)
    frame = pd.DataFrame(
        {
            "patient": np.repeat(np.arange(300) // 2, lengths),
            "stay": np.repeat(np.arange(300), lengths),
            "ward": np.array(NAMES)[draw.integers(0, 3, lengths.sum())],
            "heat": draw.normal(37, 1, lengths.sum()),
        }
    )
    frame.to_csv(tmp_path / "visits.csv", index=False)
    skeleton = {"transmat": [[0.9, 0.1], [0.2, 0.8]], "emissionprob": [[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]}
    (tmp_path / "skeleton.json").write_text(json.dumps(skeleton))
    return tmp_path / "visits.csv"


def fit(visits: Path, *more: object) -> Any:
    folder = visits.parent
    least = ("--states", 2, "--symbols", ",".join(NAMES), "--columns", "ward", "--sequence", "stay")
    rest = ("--skeleton", folder / "skeleton.json", "--max-length", 9, "--epsilon", 2, "--delta", 1e-6)
    return call("fit", "hmm", visits, *least, *rest, "--rounds", 2, "--out", folder / "out", *more)


def test_a_fit_of_sequences_prints_its_guarantee_what_it_wrote_and_what_is_left(visits: Path) -> None:
    book = visits.parent / "ledger"
    assert call("ledger", "new", book, "--dataset", "stays", "--epsilon", 4, "--delta", 1e-6).exit_code == 0
    before = book.read_bytes()
    foreseen = fit(visits, "--person", "patient", "--ledger", book, "--dry-run")
    assert foreseen.exit_code == 0, foreseen.stderr
    assert "nothing was spent" in foreseen.stdout and "census" in foreseen.stdout
    assert book.read_bytes() == before and not (visits.parent / "out").exists()
    done = fit(visits, "--person", "patient", "--ledger", book)
    assert done.exit_code == 0, done.stderr
    for words in (
        "all sequences of one person",
        "report.html",
        "start, transitions and emissions",
        "spent in 1 run",
    ):
        assert words in done.stdout
    assert done.stderr == "", "no progress bar where nobody sees it"
    assert "fit hmm, method score" in call("ledger", "history", book, "--json").stdout
    shown = call("show", visits.parent / "out")
    assert shown.exit_code == 0, shown.stderr
    for words in ("A hidden Markov model of ward: 2 states, 3 symbols", "icu (", "epsilon 2 and delta 1e-06"):
        assert words in shown.stdout


def test_json_of_sequences_is_the_same_as_the_files(visits: Path) -> None:
    done = json.loads(fit(visits, "--json").stdout)
    shown = json.loads(call("show", visits.parent / "out", "--json").stdout)
    assert shown["model"] == done["model"]
    assert np.allclose(np.sum(done["model"]["emissionprob"], axis=1), 1)
    assert done["model"]["symbols"] == list(NAMES)
    assert done["receipt"] == json.loads((visits.parent / "out" / "receipt.json").read_text())


def test_points_are_fitted_and_shown(visits: Path) -> None:
    least = ("--states", 2, "--points", "--columns", "heat", "--sequence", "stay", "--bounds", "30:44")
    rest = ("--max-length", 9, "--epsilon", 2, "--delta", 1e-6, "--rounds", 2, "--covariance", "full")
    out = visits.parent / "heat"
    done = call("fit", "hmm", visits, *least, *rest, "--out", out, "--topology", "left-right")
    assert done.exit_code == 0, done.stderr
    shown = call("show", out)
    assert "full Gaussians" in shown.stdout and "heat" in shown.stdout and "±" in shown.stdout


def test_a_plan_of_sequences_is_one_file(visits: Path) -> None:
    file = visits.parent / "run.toml"
    file.write_text(
        'data = "visits.csv"\nstates = 2\nsymbols = ["ward", "icu", "home"]\ncolumns = ["ward"]\n'
        'sequence = "stay"\nskeleton = "skeleton.json"\nmax_length = 9\nepsilon = "inf"\nout = "plain"\n'
    )
    done = call("fit", "hmm", "--plan", file)
    assert done.exit_code == 0, done.stderr
    assert "NOT PRIVATE" in done.stdout
    assert (visits.parent / "plain" / "report.html").exists()
    file.write_text(file.read_text().replace("max_length", "max_lenght"))
    refused = call("fit", "hmm", "--plan", file)
    assert refused.exit_code == 2 and "Did you mean" in refused.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--symbols", "ward,icu"), ("is not declared", "ward")),
        (("--sequences-per-person", 3), ("--sequences-per-person bounds nobody",)),
        (("--symbols", 3), ("not whole numbers", "--symbols a,b.")),
        (("--points",), ("symbols or points", "--symbols", "--points")),
        (("--covariance", "full"), ("--covariance is for points",)),
        (("--topology", "ring"), ("no such topology",)),
        (("--method", "labelled"), ("--method labelled needs", "--states-column")),
        (("--states", 3), ("of the skeleton has another shape",)),
        (("--epsilon", 0), ("Epsilon is not",)),
    ],
)
def test_refusals_of_sequences_end_with_two_and_cost_nothing(visits: Path, options: Any, words: Any) -> None:
    book = visits.parent / "ledger"
    call("ledger", "new", book, "--dataset", "a", "--unit", "sequence", "--epsilon", 4, "--delta", 1e-6)
    skeleton = ("--skeleton", visits.parent / "none.json") if options[0] == "--symbols" else ()
    if skeleton:
        skeleton[1].write_text("{}")
    done = fit(visits, "--ledger", book, *options, *skeleton)
    assert done.exit_code == 2, done.stdout
    for each in words:
        assert each in done.stderr
    assert not Ledger.open(book).entries()
    assert not (visits.parent / "out").exists()
