"""Estimators of hidden Markov models on tables: the same fit as from arrays, and names where names belong."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.errors import ParameterError
from discreet.fit import CategoricalHMM, GaussianHMM

DICE: dict[str, Any] = {
    "startprob": [0.6, 0.4],
    "transmat": [[0.95, 0.05], [0.1, 0.9]],
    "emissionprob": [[1 / 6] * 6, [0.1] * 5 + [0.5]],
}
LENGTHS = np.random.default_rng(0).integers(1, 16, 120)


def throws() -> pd.DataFrame:
    model = CategoricalHMM.from_json(json.dumps({"kind": "categorical-hmm", **DICE}))
    rows, states = model.sample(LENGTHS, random_state=1)
    return pd.DataFrame(
        {
            "game": np.repeat(np.arange(120), LENGTHS),
            "time": np.concatenate([np.arange(length) for length in LENGTHS]),
            "face": np.ravel(rows),
            "player": np.repeat(np.arange(120) // 3, LENGTHS),
            "hidden": states,
            "height": states * 4.0 + np.random.default_rng(2).normal(size=len(states)),
        }
    )


def dice(**changes: Any) -> CategoricalHMM:
    settings = {"epsilon": 2.0, "delta": 1e-6, "max_length": 15, "n_rounds": 2, "random_state": 4}
    return CategoricalHMM(2, 6, **{"skeleton": DICE, **settings, **changes})


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("by_person", [False, True])
def test_a_table_in_any_order_of_rows_gives_the_fit_of_its_arrays(labelled: bool, by_person: bool) -> None:
    frame = throws()
    arrays = dice().fit(
        frame.face.to_numpy(),
        LENGTHS,
        states=frame.hidden.to_numpy() if labelled else None,
        person=np.arange(120) // 3 if by_person else None,
    )
    names: dict[str, Any] = {"columns": ["face"], "sequence": "game", "order": "time"}
    names |= {"person": "player"} if by_person else {}
    # sequences come in the order of their first rows, so the games stay in theirs
    mixed = frame.sort_values(["time", "game"], kind="stable")
    table = dice(**names).fit(mixed, states="hidden" if labelled else None)
    np.testing.assert_array_equal(table.transmat_, arrays.transmat_)
    np.testing.assert_array_equal(table.emissionprob_, arrays.emissionprob_)
    assert table.guarantee_.unit == ("person" if by_person else "sequence")
    assert table.plan(labelled=labelled) == table.guarantee_


def test_points_are_read_from_tables_too() -> None:
    frame, region = throws(), {"bounds": (-10, 15), "max_length": 15, "n_rounds": 2, "random_state": 1}
    arrays = GaussianHMM(2, epsilon=2.0, delta=1e-6, **region).fit(frame[["height"]].to_numpy(), LENGTHS)
    table = GaussianHMM(2, epsilon=2.0, delta=1e-6, columns=["height"], sequence="game", **region).fit(frame)
    np.testing.assert_array_equal(table.means_, arrays.means_)
    assert table.receipt_["domain"]["columns"] == ["height"]


def test_frames_with_lengths_are_arrays_as_before() -> None:
    frame = throws()
    found = dice().fit(frame[["face"]], LENGTHS)
    np.testing.assert_array_equal(found.transmat_, dice().fit(frame.face.to_numpy(), LENGTHS).transmat_)


def test_what_lies_beyond_the_longest_length_changes_nothing() -> None:
    frame, names = throws(), {"columns": ["face"], "sequence": "game", "order": "time", "max_length": 5}
    cut = frame[frame.time < 5]
    whole, short = dice(**names).fit(frame), dice(**names).fit(cut)
    np.testing.assert_array_equal(whole.emissionprob_, short.emissionprob_)
    assert whole.receipt_ == short.receipt_, "the papers do not tell whether anything was cut"


@pytest.mark.parametrize(
    ("changes", "more", "words"),
    [
        ({"sequence": "game"}, {}, "arrays have no column names"),
        ({"person": "player"}, {}, "arrays have no column names"),
        ({}, {"states": "hidden"}, "arrays have no column names"),
        ({"person": np.arange(120)}, {}, "person is not a column name"),
        ({"sequence": 3}, {}, "sequence is not a column name"),
        ({"columns": "face"}, {}, "columns is not a list of names"),
        ({"symbols": ["a", "b"]}, {}, "n_symbols is not how many symbols are named"),
        ({"symbols": "abcdef"}, {}, "not a list of names"),
    ],
)
def test_names_of_columns_belong_to_tables_and_ids_to_arrays(changes: Any, more: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        dice(**changes).fit(throws().face.to_numpy(), LENGTHS, **more)
    for wrong in ({"person": np.arange(120)}, {"states": throws().hidden.to_numpy()}):
        with pytest.raises(ParameterError, match="is not the name of a column"):
            dice(columns=["face"], sequence="game").fit(throws(), **wrong)


def test_a_model_remembers_the_names_of_its_symbols(tmp_path: Any) -> None:
    faces = ["one", "two", "three", "four", "five", "six"]
    frame = throws().assign(face=lambda f: np.array(faces)[f.face])
    model = dice(columns=["face"], sequence="game", symbols=faces).fit(frame)
    assert CategoricalHMM.load(model.save(tmp_path / "m")).symbols == faces
    card = model.to_bundle().card
    assert "over `face`" in card and "epsilon 2" in card
