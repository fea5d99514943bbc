"""`BayesianNetwork`: plain fits are maximum likelihood, private ones keep their promise, papers say it."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from experiments.paper_asia import paper_asia
from sklearn import exceptions
from sklearn.base import clone

from discreet.accounting.ledger import Ledger
from discreet.bundle import load_bundle, save_bundle
from discreet.errors import (
    BundleError,
    DataError,
    DiscreetError,
    NotFittedError,
    OverspentError,
    ParameterError,
    StateError,
    TooLargeError,
)
from discreet.fit import BayesianNetwork
from discreet.fit.network import run as runs
from discreet.fit.network.card import read_description, read_network
from discreet.fit.network.request import Request, check, plan, structure_of
from discreet.models.bif import read_bif, write_bif
from discreet.models.network import Network
from discreet.models.structure import Structure
from discreet.models.tally import tally
from discreet.randomness import seeded

INF = math.inf


def asia_rows(rows: int = 2000, seed: int = 1) -> pd.DataFrame:
    network = paper_asia()
    codes = network.sample(rows, seeded(seed))
    states = network.structure.states
    return pd.DataFrame({node: np.array(states[node])[code] for node, code in codes.items()})


def private(**more: Any) -> BayesianNetwork:
    return BayesianNetwork(paper_asia(), **{"epsilon": 1.0, "delta": 1e-6, **more})


def test_a_plain_fit_without_prior_is_maximum_likelihood() -> None:
    frame = asia_rows()
    model = BayesianNetwork(paper_asia(), epsilon=INF, prior=0).fit(frame)
    structure = paper_asia().structure
    for node, parents in structure.parents.items():
        for index in np.ndindex(*structure.shape(node)[:-1]):
            chosen = frame
            for parent, code in zip(parents, index, strict=True):
                chosen = chosen[chosen[parent] == structure.states[parent][code]]
            share = (chosen[node] == "1").mean() if len(chosen) else 0.5
            assert model.cpt(node)[(*index, 0)] == pytest.approx(share, abs=1e-12)
    assert not model.guarantee_.private
    assert model.receipt_["method"] == "plain"


def test_a_private_fit_comes_close_and_promises_what_it_charges() -> None:
    model = private().fit(asia_rows(20_000))
    assert paper_asia().divergence(model.network_) < 0.01
    promised = model.guarantee_
    assert promised.private and promised.unit == "row" and promised.epsilon == 1.0
    assert [event.label for event in promised.events] == ["counts of 6 families"]
    assert model.receipt_["account"]["plan"][0]["drawn"] == 1
    assert promised == private().plan()
    answer = model.query(["D"], {"S": "1"})
    np.testing.assert_allclose(answer, paper_asia().query(["D"], {"S": "1"}), atol=0.05)
    assert model.score(asia_rows(500, 3)) == pytest.approx(model.score_samples(asia_rows(500, 3)).mean())


def test_tables_have_their_full_shape_and_no_zero_whatever_occurs() -> None:
    frame = asia_rows(50)
    frame["A"] = "1"
    for source in (frame, frame.iloc[:0]):
        model = private().fit(source)
        for node in paper_asia().structure.nodes:
            assert model.cpt(node).shape == paper_asia().structure.shape(node)
            assert (model.cpt(node) > 0).all()


def test_the_domain_is_never_inferred() -> None:
    frame = asia_rows(50)
    frame.loc[3, "A"] = "SECRET"
    for epsilon in (1.0, INF):
        with pytest.raises(DataError) as refused:
            private(epsilon=epsilon).fit(frame)
        assert "SECRET" not in str(refused.value)


def test_configurations_that_never_occur_get_the_declared_prior() -> None:
    structure = Structure({"a": ("x", "y"), "b": ("u", "v", "w")}, {"b": ("a",)})
    rows = {"a": ["x"] * 6, "b": ["u"] * 6}
    model = BayesianNetwork(structure, epsilon=INF, prior=3).fit(rows)
    np.testing.assert_allclose(model.cpt("b"), [[7 / 9, 1 / 9, 1 / 9], [1 / 3] * 3])


def test_a_seed_repeats_the_fit_and_promises_nothing() -> None:
    frame = asia_rows()
    one, two = (private(random_state=4).fit(frame) for _ in range(2))
    assert all((one.cpt(node) == two.cpt(node)).all() for node in paper_asia().structure.nodes)
    assert not one.guarantee_.private and "seeded" in one.guarantee_.summary()
    unseeded = private().fit(frame)
    assert not (unseeded.cpt("E") == private().fit(frame).cpt("E")).all()


def test_of_every_person_only_the_first_rows_count() -> None:
    frame = asia_rows(400)
    frame["who"] = np.arange(400) % 90
    first = frame.groupby("who").head(2)
    seed: dict[str, Any] = {"random_state": 1, "rows_per_person": 2}
    by_column = private(person="who", **seed).fit(frame)
    by_array = private(**seed).fit(frame.drop(columns="who"), person=frame["who"])
    alone = private(person="who", **seed).fit(first)
    for node in paper_asia().structure.nodes:
        assert (by_column.cpt(node) == alone.cpt(node)).all()
        assert (by_column.cpt(node) == by_array.cpt(node)).all()
    told = by_column.guarantee_
    assert (told.unit, told.person, told.rows_per_person) == ("person", "who", 2.0)
    assert by_array.guarantee_.person is None and by_array.guarantee_.unit == "person"
    assert by_column.receipt_["sigma"] == pytest.approx(2 * private().fit(frame).receipt_["sigma"], rel=1e-2)


def test_adding_one_person_moves_the_counts_by_what_the_law_says() -> None:
    frame = asia_rows(100)
    frame["who"] = np.arange(100) // 3
    more = pd.concat([frame, frame.iloc[:7].assign(who=999)])
    wanted = check(Request(paper_asia().structure, 1.0, 1e-6, 1.0, "who", 4, "refuse", None, None, seeded(0)))
    before, after = runs.count(wanted, frame), runs.count(wanted, more)
    length = math.sqrt(sum(float(((after[node] - before[node]) ** 2).sum()) for node in before))
    bound = plan(wanted, by_person=True).law
    assert bound is not None and 0 < length <= bound.bound


def test_files_frames_and_mappings_give_the_same_fit(tmp_path: Path) -> None:
    frame = asia_rows(3000)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet", index=False)
    write_bif(paper_asia(), tmp_path / "asia.bif")
    models = [
        BayesianNetwork(structure, epsilon=1, delta=1e-6, random_state=2).fit(source)
        for structure, source in (
            (paper_asia(), frame),
            (paper_asia().structure, {node: frame[node].to_numpy() for node in frame}),
            (tmp_path / "asia.bif", tmp_path / "rows.csv"),
            (str(tmp_path / "asia.bif"), [tmp_path / "rows.parquet"]),
        )
    ]
    assert len({model.cpt("E").tobytes() for model in models}) == 1


def test_the_ledger_is_charged_before_noise_is_drawn_and_after_everything_was_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.budget("asia", epsilon=2.0, delta=1e-5, unit="row")
    charge: dict[str, Any] = {"ledger": ledger, "dataset": "asia"}
    frame = asia_rows(300)
    paid = private(ledger=tmp_path / "ledger", dataset="asia").fit(frame)
    assert paid.receipt_["account"]["ledger"]["seq"] >= 1
    before = ledger.entries()
    for wrong, data in (
        ({}, frame.drop(columns="A")),
        ({}, frame.assign(A="9")),
        ({"missing": "nobody"}, frame),
        ({"person": "who"}, frame),
        ({"prior": 0}, frame),
        ({"random_state": 1}, frame),
        ({"epsilon": INF}, frame),
    ):
        with pytest.raises(DiscreetError):
            private(**charge, **wrong).fit(data)
    with pytest.raises(OverspentError):
        private(epsilon=5.0, **charge).fit(frame)
    assert ledger.entries() == before

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "release_tables", interrupt)
    with pytest.raises(KeyboardInterrupt):
        private(epsilon=0.5, **charge).fit(frame)
    assert len(ledger.entries()) > len(before)  # spent, although nothing was drawn


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"epsilon": 0}, ParameterError, "epsilon"),
        ({"epsilon": "1"}, ParameterError, "epsilon"),
        ({"delta": None}, ParameterError, "delta is not chosen"),
        ({"delta": 0}, ParameterError, "delta"),
        ({"prior": 0}, ParameterError, "prior"),
        ({"prior": math.nan}, ParameterError, "prior"),
        ({"rows_per_person": 2}, ParameterError, "bounds nobody"),
        ({"rows_per_person": 0}, ParameterError, "out of range"),
        ({"rows_per_person": 1.5}, ParameterError, "number of rows"),
        ({"person": 3}, ParameterError, "column name"),
        ({"person": "A"}, ParameterError, "node of the network"),
        ({"missing": "maybe"}, ParameterError, "rule for missing"),
        ({"dataset": "x"}, ParameterError, "no ledger"),
        ({"structure": 3}, ParameterError, "structure is none"),
        ({"structure": "absent.bif"}, ParameterError, "cannot be read"),
    ],
)
def test_what_cannot_be_asked_is_refused(change: dict[str, Any], error: type[Exception], words: str) -> None:
    settings: dict[str, Any] = {"structure": paper_asia(), "epsilon": 1.0, "delta": 1e-6, **change}
    with pytest.raises(error, match=words):
        BayesianNetwork(**settings).fit(asia_rows(20))


def test_a_person_named_twice_is_refused() -> None:
    with pytest.raises(ParameterError, match="named twice"):
        private(person="who").fit(asia_rows(5).assign(who=1), person=[1] * 5)
    with pytest.raises(DataError, match="one id for each row"):
        private().fit(asia_rows(5), person=[1] * 4)
    with pytest.raises(DataError, match="one id for each row"):
        private().fit(asia_rows(5), person=[[1] * 5])


def test_huge_structures_are_refused_with_their_cells() -> None:
    states = {f"p{index}": tuple(map(str, range(20))) for index in range(8)}
    structure = Structure(states, {"p7": tuple(f"p{index}" for index in range(7))})
    with pytest.raises(TooLargeError, match="25,600,000,000 cells"):
        BayesianNetwork(structure, epsilon=1, delta=1e-6).fit({})


def test_a_model_comes_back_from_its_folder_bit_for_bit(tmp_path: Path) -> None:
    model = private(person="who", rows_per_person=2, prior=0.5).fit(asia_rows(300).assign(who=range(300)))
    folder = model.save(tmp_path / "out")
    again = BayesianNetwork.load(folder)
    assert again.network_.structure == model.network_.structure
    assert all((again.cpt(node) == model.cpt(node)).all() for node in paper_asia().structure.nodes)
    assert again.guarantee_ == model.guarantee_
    assert (again.person, again.rows_per_person, again.prior) == ("who", 2, 0.5)
    bif = read_bif(folder / "network.bif")
    assert all((bif.tables[node] == model.cpt(node)).all() for node in paper_asia().structure.nodes)
    assert bif.structure == model.network_.structure
    assert again.to_bif(tmp_path / "again.bif").read_bytes() == (folder / "network.bif").read_bytes()
    assert "BayesianNetwork.load" in (folder / "MODEL_CARD.md").read_text()
    again.save(folder)  # an older result is replaced


def test_only_what_was_released_is_written(tmp_path: Path) -> None:
    model = private().fit(asia_rows(300))
    folder = model.save(tmp_path / "out")
    told = "".join(path.read_text() for path in folder.iterdir() if path.suffix != ".safetensors")
    # how many rows there were, as a number of its own: digests and noisy digits hold any three digits
    assert not re.search(r"(?<![0-9a-f.])300(\.0)?(?![0-9a-f.])", told)
    model.network_.tables["A"][0] += 1e-9
    with pytest.raises(BundleError, match="not those that were released"):
        model.save(tmp_path / "other")


@pytest.mark.parametrize("damage", ["structure", "tensors", "parameters", "cells"])
def test_a_damaged_folder_is_refused(tmp_path: Path, damage: str) -> None:
    bundle = private().fit(asia_rows(100)).to_bundle()
    description = json.loads(json.dumps(bundle.description))
    tensors = dict(bundle.tensors)
    if damage == "structure":
        description["structure"]["nodes"][0]["parents"] = ["D"]
    elif damage == "cells":
        description["structure"]["nodes"][0]["states"] = [str(index) for index in range(10)]
    elif damage == "tensors":
        tensors["table.99"] = tensors.pop("table.0")
    else:
        del description["parameters"]["prior"]
    broken = type(bundle)(bundle.kind, tensors, description, bundle.receipt)
    with pytest.raises(BundleError):
        read_network(broken)
        read_description(broken)
    if damage == "parameters":
        save_bundle(tmp_path / "out", broken)
        with pytest.raises(BundleError):
            BayesianNetwork.load(tmp_path / "out")
        assert load_bundle(tmp_path / "out").kind == "bayesian-network"


def test_it_behaves_like_an_estimator() -> None:
    model = private(random_state=1)
    assert clone(model).get_params()["epsilon"] == 1.0
    assert model.set_params(prior=2.0) is model and model.prior == 2.0
    for asked in (lambda: model.cpt("A"), lambda: model.query(["A"]), lambda: model.sample(1)):
        with pytest.raises(NotFittedError):
            asked()
        with pytest.raises(exceptions.NotFittedError):
            asked()
    model.fit(asia_rows(100))
    assert model.n_features_in_ == 8 and model.feature_names_in_.tolist() == list("ASTLBEXD")
    assert "36 cells" in repr(model)
    with pytest.raises(DataError):
        model.fit(asia_rows(10).drop(columns="A"))
    with pytest.raises(NotFittedError):  # a failed fit does not pass for an earlier one
        model.cpt("A")


def test_samples_are_rows_of_states_that_can_be_fitted_again() -> None:
    model = private().fit(asia_rows())
    drawn = model.sample(1000, random_state=3)
    assert set(drawn["A"]) <= {"1", "2"} and len(drawn["D"]) == 1000
    again = BayesianNetwork(paper_asia(), epsilon=INF).fit(drawn)
    assert model.network_.divergence(again.network_) < 0.1
    with pytest.raises(StateError):
        model.query(["A"], {"D": "3"})


def test_listeners_hear_noisy_counts_of_the_declared_sigma() -> None:
    """The noise that is drawn has the deviation that the receipt states."""
    network = Structure({"a": tuple(map(str, range(3000)))}, {})
    rows = {"a": np.zeros(10, dtype=int)}
    heard: list[Any] = []
    wanted = check(Request(network, 1.0, 1e-6, 1.0, None, 1, "refuse", None, None, seeded(9)))
    outcome = runs.run(wanted, rows, listen=heard.append)
    exact = tally({"a": np.zeros(10, dtype=np.int8)}, network)["a"]
    noise = heard[0]["a"] - exact
    assert noise.dtype == np.int64
    assert np.std(noise) == pytest.approx(outcome.receipt["sigma"], rel=0.08)  # six deviations


def test_structures_come_from_structures_networks_and_files(tmp_path: Path) -> None:
    path = write_bif(paper_asia(), tmp_path / "asia.bif")
    assert structure_of(path) == structure_of(paper_asia()) == structure_of(paper_asia().structure)
    assert isinstance(paper_asia(), Network)
