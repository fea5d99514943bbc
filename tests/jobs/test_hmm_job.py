"""Jobs for hidden Markov models: a skeleton in, a folder with papers out; what is refused costs nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.accounting.ledger import Ledger
from discreet.bundle import load_bundle, save_bundle, tensor_digest
from discreet.errors import BundleError, DataError, DiscreetError, DomainError, ParameterError, TooLargeError
from discreet.fit import CategoricalHMM, GaussianHMM
from discreet.jobs import FitHMM, fit_hmm, make_plan, new_budget, preview, show_bundle

FILES = ("MODEL_CARD.md", "model.json", "model.safetensors", "receipt.json", "report.html")
SKELETON = {
    "startprob": [0.6, 0.4],
    "transmat": [[0.9, 0.1], [0.2, 0.8]],
    "emissionprob": [[1 / 6] * 6, [0.1] * 5 + [0.5]],
}


@pytest.fixture
def throws(tmp_path: Path) -> Path:
    """Two games of each of 200 players, in no order, and the skeleton beside them."""
    lengths = np.random.default_rng(0).integers(5, 21, 400)
    truth = CategoricalHMM.from_json(json.dumps({"kind": "categorical-hmm", **SKELETON}))
    rows, states = truth.sample(lengths, random_state=1)
    frame = pd.DataFrame(
        {
            "game": np.repeat(np.arange(400), lengths),
            "time": np.concatenate([np.arange(length) for length in lengths]),
            "face": np.ravel(rows),
            "word": np.array(list("abcdef"))[np.ravel(rows)],
            "player": np.repeat(np.arange(400) // 2, lengths),
            "hidden": states,
            "height": states * 4.0 + np.random.default_rng(2).normal(size=len(states)),
        }
    )
    frame.sample(frac=1, random_state=0).to_parquet(tmp_path / "throws.parquet", index=False)
    (tmp_path / "skeleton.json").write_text(json.dumps(SKELETON))
    return tmp_path / "throws.parquet"


def plan(throws: Path, **more: Any) -> FitHMM:
    least = {"data": str(throws), "states": 2, "symbols": 6, "columns": "face", "sequence": "game"}
    folder = throws.parent
    rest = {"order": "time", "max_length": 20, "skeleton": str(folder / "skeleton.json")}
    budget = {"epsilon": 4.0, "delta": 1e-6, "rounds": 3, "out": str(folder / "out")}
    # a few rounds only: these tests are about papers, not about how well they fit
    settings = {**least, **rest, **budget, **more}
    return make_plan({name: value for name, value in settings.items() if value is not None}, FitHMM)


def points(throws: Path, **more: Any) -> FitHMM:
    changes = {"symbols": None, "skeleton": None, "points": True, "columns": "height", "bounds": "-10:15"}
    return plan(throws, **{**changes, **more})


def test_a_skeleton_becomes_a_folder_with_all_papers(throws: Path) -> None:
    seen: list[tuple[int, int]] = []
    result = fit_hmm(plan(throws, person="player", rounds=8), lambda done, all: seen.append((done, all)))
    assert result.files == FILES
    assert seen[-1][0] == seen[-1][1]
    again = CategoricalHMM.load(result.out)
    assert np.array_equal(again.transmat_, result.model.transmat_)
    assert again.guarantee_ == result.model.guarantee_
    assert again.guarantee_.private and again.guarantee_.person == "player"
    assert np.abs(again.transmat_ - SKELETON["transmat"]).max() < 0.1, "far more throws than noise"
    assert show_bundle(result.out).to_dict()["model"] == result.paper.to_dict()
    assert result.model.receipt_["domain"]["columns"] == ["face"]
    json.dumps(result.to_dict(), allow_nan=False)


def test_the_answer_is_a_skeleton_again(throws: Path) -> None:
    answer = fit_hmm(plan(throws)).model.to_json()
    (throws.parent / "skeleton.json").write_text(answer)
    assert preview(plan(throws)).guarantee.private


def test_names_of_symbols_are_declared_and_kept(throws: Path) -> None:
    told = fit_hmm(plan(throws, columns="word", symbols="a,b,c,d,e,f", random_state=1))
    numbered = fit_hmm(plan(throws, random_state=1, out=str(throws.parent / "numbers")))
    assert np.array_equal(told.model.emissionprob_, numbered.model.emissionprob_)
    assert CategoricalHMM.load(told.out).symbols == list("abcdef")
    assert show_bundle(told.out).paper.name(5) == "f"


@pytest.mark.parametrize(
    "change",
    [
        {"method": "iterate"},
        {"states_column": "hidden"},
        {"noise": "laplace", "delta": None},
        {"epsilon": "inf", "delta": None},
        {"random_state": 3},
        {"sequence": None, "order": None, "person": "player"},
        {"person": "player", "sequences_per_person": 2.0},
        {"topology": "left-right", "skeleton": None},
    ],
)
def test_every_setting_reaches_the_fit_and_the_preview_foresees_it(throws: Path, change: Any) -> None:
    wanted = plan(throws, **change)
    seen = preview(wanted)
    result = fit_hmm(wanted)
    assert result.model.guarantee_ == seen.guarantee
    assert result.paper.sentence == seen.sentence
    assert (result.out / "report.html").stat().st_size > 10_000
    assert sum(purchase.share for purchase in seen.bought) == pytest.approx(1 if seen.bought else 0)
    assert ("everybody who sees the result" in seen.guarantee.trusts) != seen.guarantee.private


@pytest.mark.parametrize("change", [{"covariance_type": "full"}, {"bounds": None, "radius": 20.0}])
def test_points_have_a_region_and_a_picture(throws: Path, change: Any) -> None:
    wanted = points(throws, rounds=8, **change)
    seen = preview(wanted)
    assert not (throws.parent / "out").exists()
    result = fit_hmm(wanted)
    assert result.model.guarantee_ == seen.guarantee
    assert GaussianHMM.load(result.out).means_.shape == (2, 1)
    assert result.paper.places is not None
    assert result.paper.region is not None
    assert np.abs(np.sort(result.model.means_.ravel()) - [0, 4]).max() < 1.0


def test_a_preview_of_sequences_reads_no_row_and_spends_nothing(throws: Path, tmp_path: Path) -> None:
    book = tmp_path / "ledger"
    new_budget(book, "throws", "sequence", 8.0, 1e-6)
    wanted = plan(throws, ledger=str(book))
    data = bytearray(throws.read_bytes())
    footer = int.from_bytes(data[-8:-4], "little")
    data[4 : len(data) - 8 - footer] = b"\xff" * (len(data) - 12 - footer)
    pages = throws.read_bytes()
    throws.write_bytes(data)
    before = book.read_bytes()
    seen = preview(wanted)
    assert book.read_bytes() == before
    assert not (tmp_path / "out").exists()
    with pytest.raises(DataError):
        fit_hmm(wanted)
    assert not Ledger.open(book).entries(), "rows that cannot be read cost nothing"
    throws.write_bytes(pages)
    result = fit_hmm(wanted)
    assert seen.after is not None and result.left is not None
    assert (result.left.spent, result.left.runs) == (seen.after.spent, 1), "a run costs what was foreseen"


REFUSED: dict[str, tuple[dict[str, Any], type[DiscreetError], str]] = {
    "neither symbols nor points": ({"symbols": None}, ParameterError, "symbols or points"),
    "both symbols and points": ({"points": True}, ParameterError, "symbols or points"),
    "bounds of symbols": ({"bounds": "0:5"}, ParameterError, "are for points"),
    "covariances of symbols": ({"covariance_type": "full"}, ParameterError, "covariance_type is for points"),
    "a weight that bounds nobody": ({"sequences_per_person": 2.0}, ParameterError, "bounds nobody"),
    "no max_length": ({"max_length": None}, ParameterError, "max_length is not declared"),
    "no sequence and no person": ({"sequence": None}, ParameterError, "which sequence a row belongs to"),
    "a skeleton that is not there": ({"skeleton": "nowhere.json"}, ParameterError, "skeleton cannot be read"),
    "a skeleton of other size": ({"states": 3}, ParameterError, "of the skeleton has another shape"),
    "a skeleton that steps back": ({"topology": "left-right"}, ParameterError, "steps back"),
    "no such topology": ({"topology": "ring"}, ParameterError, "no such topology"),
    "labelled without states": ({"method": "labelled"}, ParameterError, "needs the hidden states"),
    "states with another method": (
        {"method": "score", "states_column": "hidden"},
        ParameterError,
        "hidden states are given",
    ),
    "numbers as symbols": ({"columns": "height"}, DataError, "'height' are not whole numbers"),
    "names that were not declared": ({"columns": "word"}, DataError, "'word' are not whole numbers"),
    "no such column of sequences": ({"sequence": "match"}, DataError, "'match'"),
    "score of too many parameters": (
        {"states": 200, "symbols": 10_000, "skeleton": None, "method": "score"},
        TooLargeError,
        "too many parameters",
    ),
    "points without a region": (
        {"symbols": None, "skeleton": None, "points": True, "columns": "height"},
        ParameterError,
        "no region is declared",
    ),
    "bounds of other columns": (
        {
            "symbols": None,
            "skeleton": None,
            "points": True,
            "columns": "height",
            "bounds": {"weight": [0, 1]},
        },
        DomainError,
        "do not name the same",
    ),
    "a longest length that fits nowhere": (
        {"max_length": 10**9, "method": "iterate"},
        TooLargeError,
        "do not fit into memory",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_run_of_sequences_refuses_is_refused_beforehand_and_costs_nothing(
    throws: Path, tmp_path: Path, case: str
) -> None:
    change, error, words = REFUSED[case]
    book = tmp_path / "ledger"
    new_budget(book, "throws", "sequence", 8.0, 1e-6)
    for job in (preview, fit_hmm):
        if case == "no sequence and no person" and job is preview:
            continue  # a column of lists needs neither: only the rows can tell
        with pytest.raises(error, match=words):
            job(plan(throws, ledger=str(book), **change))
    assert not Ledger.open(book).entries()
    assert not (tmp_path / "out").exists()


def test_values_out_of_range_are_found_before_the_ledger_is_charged(throws: Path, tmp_path: Path) -> None:
    book = tmp_path / "ledger"
    new_budget(book, "throws", "sequence", 8.0, 1e-6)
    with pytest.raises(DataError, match="'face' is out of range"):
        fit_hmm(plan(throws, symbols=5, skeleton=None, ledger=str(book)))
    with pytest.raises(DataError, match="a state is out of range"):
        fit_hmm(plan(throws, states=1, skeleton=None, states_column="hidden", ledger=str(book)))
    assert not Ledger.open(book).entries()


def test_the_column_of_the_person_is_told_in_the_guarantee(throws: Path) -> None:
    words = preview(plan(throws, person="player")).guarantee.words()
    assert "column 'player'" in words and "all sequences of one person" in words
    assert "the names of the columns" in words


@pytest.mark.parametrize(
    "spoil",
    [
        lambda plain: plain.pop("domain"),
        lambda plain: plain["domain"].pop("region"),
        lambda plain: plain["domain"].update(symbols=["a"]),
        lambda plain: plain["parameters"].update(n_states=3),
        lambda plain: plain["parameters"].pop("method"),
        lambda plain: plain.update(domain=7),
    ],
)
def test_a_damaged_description_of_a_hidden_markov_model_is_refused(throws: Path, spoil: Any) -> None:
    out = fit_hmm(plan(throws, epsilon="inf", delta=None)).out
    plain = json.loads((out / "model.json").read_text())
    spoil(plain)
    (out / "model.json").write_text(json.dumps(plain))
    with pytest.raises(BundleError):
        show_bundle(out)


def test_tensors_that_are_no_model_are_refused(throws: Path) -> None:
    out = fit_hmm(plan(throws, epsilon="inf", delta=None)).out
    bundle = load_bundle(out)
    for change in (
        {"transmat": np.eye(3)},
        {"transmat": np.ones((2, 2))},
        {"startprob": np.array([])},
        {"emissionprob": np.zeros((2, 0))},
    ):
        tensors = {**bundle.tensors, **change}
        account = {**bundle.receipt["account"], "digest": tensor_digest(tensors)}
        save_bundle(out, replace(bundle, tensors=tensors, receipt={**bundle.receipt, "account": account}))
        with pytest.raises(BundleError):
            show_bundle(out)
        with pytest.raises(BundleError):
            CategoricalHMM.load(out)


def test_every_setting_of_sequences_is_described() -> None:
    assert all(field.description for field in FitHMM.model_fields.values())
