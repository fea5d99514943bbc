"""Jobs for Bayesian networks: a structure and rows in, a folder with papers out; refusals cost nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from experiments.paper_asia import paper_asia

from discreet.bundle import load_bundle
from discreet.errors import BundleError, DataError, DiscreetError, ParameterError
from discreet.fit import BayesianNetwork
from discreet.jobs import FitNetwork, fit_network, make_plan, new_budget, preview, read_plan, show_bundle
from discreet.jobs.network import order_network
from discreet.jobs.schema import check_files
from discreet.models.bif import write_bif
from discreet.randomness import seeded

FILES = ("MODEL_CARD.md", "model.json", "model.safetensors", "network.bif", "receipt.json", "report.html")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    network = paper_asia()
    codes = network.sample(600, seeded(1))
    frame = pd.DataFrame({node: np.array(("1", "2"))[code] for node, code in codes.items()})
    frame.assign(who=np.arange(600) // 2).to_parquet(tmp_path / "rows.parquet", index=False)
    write_bif(network, tmp_path / "asia.bif")
    return tmp_path / "rows.parquet"


def plan(rows: Path, **more: Any) -> FitNetwork:
    folder = rows.parent
    settings = {"data": str(rows), "structure": str(folder / "asia.bif"), "epsilon": 1.0, "delta": 1e-6}
    settings |= {"out": str(folder / "out"), **more}
    return make_plan(settings, FitNetwork)


def test_rows_and_a_structure_become_a_folder_with_all_papers(rows: Path) -> None:
    seen: list[tuple[int, int]] = []
    result = fit_network(plan(rows, person="who"), lambda done, all: seen.append((done, all)))
    assert result.files == FILES
    assert seen == [(1, 2), (2, 2)]
    again = BayesianNetwork.load(result.out)
    assert (again.cpt("E") == result.model.cpt("E")).all()
    page = (result.out / "report.html").read_text()
    assert "Bayesian network of A, S, T, L and 4 more" in page and "data:image/png" in page
    shown = show_bundle(result.out)
    assert shown.kind == "bayesian-network"
    plain = json.loads(json.dumps(shown.to_dict()))
    assert plain["model"]["structure"] == paper_asia().structure.to_dict()
    assert plain["model"]["bought"][0]["label"] == "counts of 6 families"
    assert plain["model"]["bought"][0]["error"] == pytest.approx(again.receipt_["sigma"], rel=1e-2)
    fit_network(plan(rows))  # the folder of an older result is replaced


def test_a_dry_run_tells_what_the_run_will_promise_and_spends_nothing(rows: Path) -> None:
    book = rows.parent / "ledger"
    new_budget(book, "asia", "person", 4.0, 1e-5)
    wanted = plan(rows, person="who", rows_per_person=2, ledger=str(book))
    before = book.read_bytes()
    seen = preview(wanted)
    assert book.read_bytes() == before and not (rows.parent / "out").exists()
    assert seen.columns == paper_asia().structure.nodes
    assert seen.guarantee.rows_per_person == 2.0
    assert seen.before is not None and seen.after is not None and seen.after.runs == seen.before.runs + 1
    result = fit_network(wanted)
    assert result.paper.guarantee == seen.guarantee
    assert result.paper.sentence == seen.sentence
    assert result.left is not None and result.left.spent == pytest.approx(seen.after.spent)


def test_a_plan_can_be_a_file_with_paths_beside_it(rows: Path) -> None:
    file = rows.parent / "plan.toml"
    file.write_text(
        'data = "rows.parquet"\nstructure = "asia.bif"\nepsilon = "inf"\nout = "o"\nprior = 0.0\n'
    )
    made = make_plan(read_plan(file), FitNetwork)
    assert made.structure == str(rows.parent / "asia.bif")
    result = fit_network(made)
    assert result.out == rows.parent / "o"
    assert "not private" in result.paper.sentence


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"structure": "absent.bif"}, ParameterError, "cannot be read"),
        ({"person": "nobody"}, DataError, "no column 'nobody'"),
        ({"rows_per_person": 2}, ParameterError, "bounds nobody"),
        ({"missing": "maybe"}, ParameterError, "missing values"),
        ({"bounds": "0:1"}, ParameterError, "no setting 'bounds'"),
        ({"structur": "x"}, ParameterError, "Did you mean 'structure'"),
        ({"dataset": "x"}, ParameterError, "no ledger"),
        ({"data": "absent.parquet"}, DataError, "no file"),
        ({"delta": None}, ParameterError, "delta is not chosen"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_read(
    rows: Path, change: dict[str, Any], error: type[DiscreetError], words: str
) -> None:
    for run in (fit_network, preview, order_network):
        with pytest.raises(error, match=words):
            run(plan(rows, **change))
    assert not (rows.parent / "out").exists()


def test_files_are_checked_by_their_schema_alone(rows: Path) -> None:
    folder = rows.parent
    pd.read_parquet(rows).to_csv(folder / "rows.csv", index=False)
    for file in (rows, folder / "rows.csv"):
        check_files([str(file)], ["A", "D"], "who")
        with pytest.raises(DataError, match="no column 'Z'"):
            check_files([str(file)], ["A", "Z"], None)
    pd.DataFrame({"A": ["1"], "who": [1.5]}).to_parquet(folder / "bad.parquet")
    with pytest.raises(DataError, match="cannot tell people apart"):
        check_files([str(folder / "bad.parquet")], ["A"], "who")


def test_a_structure_must_be_given(rows: Path) -> None:
    with pytest.raises(ParameterError, match="structure is not given"):
        make_plan({"data": str(rows), "epsilon": 1.0}, FitNetwork)


def test_a_damaged_folder_is_refused_by_show(rows: Path) -> None:
    result = fit_network(plan(rows))
    model = json.loads((result.out / "model.json").read_text())
    model["structure"]["nodes"][0]["name"] = "D"
    (result.out / "model.json").write_text(json.dumps(model))
    load_bundle(result.out)
    with pytest.raises(BundleError):
        show_bundle(result.out)
