"""The estimator as its users meet it: scikit-learn's contract, its papers, and every bad request."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet.accounting.accountant import epsilon_of
from discreet.accounting.ledger import Ledger
from discreet.errors import (
    BundleError,
    DataError,
    DomainError,
    NotFittedError,
    OverspentError,
    ParameterError,
    RequestError,
    TooLargeError,
)
from discreet.fit import GaussianMixture

INF = float("inf")


def blobs(rows: int = 2000, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    centres = np.array([[-3.0, 0.0], [3.0, 1.0], [0.0, 4.0]])
    return centres[draw.integers(0, 3, rows)] + draw.normal(scale=0.5, size=(rows, 2))


def private(**changes: Any) -> GaussianMixture:
    return GaussianMixture(**{"n_components": 3, "epsilon": 1.0, "delta": 1e-5, "radius": 8.0, **changes})


@pytest.mark.filterwarnings("ignore:y is ignored")
@parametrize_with_checks(
    [GaussianMixture(2, epsilon=INF), GaussianMixture(epsilon=1.0, delta=1e-3, radius=1e3)]
)
def test_scikit_learn_finds_nothing_wrong(estimator: GaussianMixture, check: Any) -> None:
    name = check.func.__name__
    if estimator.epsilon != INF and name in DIFFERENT_EVERY_TIME:
        pytest.skip("a private fit draws fresh noise: " + name)
    check(estimator)


# two fits of the same rows differ, as they must
DIFFERENT_EVERY_TIME = {
    "check_fit_idempotent",
    "check_dict_unchanged",
    "check_fit2d_1sample",
    "check_methods_subset_invariance",
    "check_methods_sample_order_invariance",
    "check_pipeline_consistency",
    "check_dtype_object",
    "check_readonly_memmap_input",
}


def test_a_private_fit_finds_separated_clusters() -> None:
    rows = blobs(20_000)
    model = private().fit(rows)
    plain = private(epsilon=INF).fit(rows)
    assert plain.score(rows) - model.score(rows) < 0.05
    nearest = np.linalg.norm(model.means_[:, None] - plain.means_[None], axis=2).min(axis=1)
    assert nearest.max() < 0.2


@pytest.mark.parametrize("method", ["joint", "published", "input"])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_every_method_stays_within_its_budget_and_says_so(method: str, noise: str) -> None:
    model = private(method=method, noise=noise, n_components=2).fit(blobs(500))
    guarantee = model.guarantee_
    assert guarantee.private
    assert (guarantee.epsilon, guarantee.delta) == (1.0, 1e-5)
    assert epsilon_of(guarantee.events, 1e-5) <= 1.0
    assert all(event["drawn"] == event["count"] for event in model.receipt_["account"]["plan"])
    assert np.isfinite(model.weights_).all()
    assert np.isfinite(model.means_).all()
    assert (np.linalg.eigvalsh(model.covariances_) > 0).all()
    assert model.weights_.sum() == pytest.approx(1)


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("epsilon", [2.0, INF])
def test_covariance_types_have_scikit_learns_shapes(covariance_type: str, epsilon: float) -> None:
    rows = blobs()
    model = private(covariance_type=covariance_type, epsilon=epsilon).fit(rows)
    twin = model.to_sklearn()
    assert twin.covariances_.shape == model.covariances_.shape
    np.testing.assert_allclose(twin.score_samples(rows), model.score_samples(rows), rtol=1e-9)
    np.testing.assert_allclose(twin.predict_proba(rows), model.predict_proba(rows), atol=1e-9)


def test_a_seeded_fit_can_be_repeated_and_is_marked_not_private() -> None:
    first, second = private(random_state=7).fit(blobs()), private(random_state=7).fit(blobs())
    assert (first.means_ == second.means_).all()
    assert not first.guarantee_.private
    assert "not private (seeded)" in first.guarantee_.words()
    assert (private().fit(blobs()).means_ != private().fit(blobs()).means_).any()


def named(source: Any) -> list[str] | None:
    return ["x", "y"] if str(source).endswith(".csv") else None


def test_the_same_sums_whatever_the_source_and_order(tmp_path: Path) -> None:
    rows = blobs(30_000)
    shuffled = rows[np.random.default_rng(1).permutation(len(rows))]
    frame = pd.DataFrame(rows, columns=["x", "y"])
    frame.to_parquet(tmp_path / "rows.parquet")
    pl.DataFrame({"x": rows[:, 0], "y": rows[:, 1]}).write_csv(tmp_path / "rows.csv")
    sources = [rows, shuffled, frame, pl.from_pandas(frame), tmp_path / "rows.parquet", tmp_path / "rows.csv"]
    means = [private(random_state=3, columns=named(source)).fit(source).means_ for source in sources]
    for other in means[1:]:
        assert (other == means[0]).all()


def test_per_person_weights_protect_people_with_many_rows() -> None:
    rows = blobs(3000)
    people = np.concatenate([np.arange(1500), np.zeros(1500, dtype=int)])
    model = private(rows_per_person=1.0).fit(rows, person=people)
    assert model.guarantee_.unit == "person"
    assert "all rows of one person" in model.guarantee_.words()
    frame = pd.DataFrame(rows, columns=["x", "y"]).assign(user=[f"u{i}" for i in people])
    named = private(person="user").fit(frame)
    assert named.guarantee_.person == "user"
    assert named.predict(frame[["x", "y"]]).shape == (3000,)


def test_a_saved_model_comes_back_bit_for_bit(tmp_path: Path) -> None:
    model = private(covariance_type="diag").fit(blobs())
    model.save(tmp_path / "model")
    again = GaussianMixture.load(tmp_path / "model")
    for name in ("weights_", "means_", "covariances_"):
        assert (getattr(again, name) == getattr(model, name)).all()
    assert again.guarantee_ == model.guarantee_
    assert again.receipt_ == model.receipt_
    written = sorted(path.name for path in (tmp_path / "model").iterdir())
    assert written == ["MODEL_CARD.md", "model.json", "model.safetensors", "receipt.json"]
    assert json.loads((tmp_path / "model" / "model.json").read_text())["tensors"] == [
        "covariances",
        "means",
        "weights",
    ]


def test_a_tampered_bundle_is_refused(tmp_path: Path) -> None:
    model = private().fit(blobs())
    model.save(tmp_path / "model")
    tensors = tmp_path / "model" / "model.safetensors"
    tensors.write_bytes(tensors.read_bytes()[:-8] + b"\0" * 8)
    with pytest.raises(BundleError, match="digest"):
        GaussianMixture.load(tmp_path / "model")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("keep me")
    with pytest.raises(BundleError, match="taken"):
        model.save(tmp_path / "other")


def test_the_ledger_is_charged_before_and_refuses_what_it_cannot_pay(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l.ledger")
    ledger.budget("blobs", "row", 1.0, 1e-5)
    model = private(ledger=ledger, dataset="blobs").fit(blobs())
    assert model.receipt_["account"]["ledger"]["seq"] is not None
    with pytest.raises(OverspentError):
        private(ledger=ledger, dataset="blobs", epsilon=0.5).fit(blobs())


def test_a_refused_request_leaves_the_ledger_untouched(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l.ledger")
    ledger.budget("blobs", "row", 1.0, 1e-5)
    before = ledger.head()
    broken = blobs()
    broken[17, 1] = np.nan
    for change, rows in (({"epsilon": -1.0}, blobs()), ({}, broken), ({"n_components": 10**9}, blobs())):
        with pytest.raises(RequestError):
            private(ledger=ledger, dataset="blobs", **change).fit(rows)
    assert ledger.head() == before


def test_ids_in_a_parameter_are_refused_since_parameters_are_published() -> None:
    with pytest.raises(ParameterError, match="not the name of a column"):
        private(person=list(range(2000))).fit(blobs())


def test_ids_in_the_place_of_y_are_pointed_out() -> None:
    with pytest.warns(UserWarning, match="y is ignored"):
        private(n_components=1).fit(blobs(50), np.arange(50))


def test_only_what_was_released_can_be_saved(tmp_path: Path) -> None:
    model = private().fit(blobs())
    model.means_ = blobs(3)
    with pytest.raises(BundleError, match="not those that were released"):
        model.save(tmp_path / "model")


def test_a_model_with_the_receipt_of_another_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        private().fit(blobs()).save(tmp_path / name)
    (tmp_path / "one" / "receipt.json").write_bytes((tmp_path / "two" / "receipt.json").read_bytes())
    with pytest.raises(BundleError, match="receipt"):
        GaussianMixture.load(tmp_path / "one")


def test_parameters_changed_after_a_fit_do_not_change_its_result(tmp_path: Path) -> None:
    model = private().fit(blobs())
    model.set_params(covariance_type="diag").save(tmp_path / "model")
    assert GaussianMixture.load(tmp_path / "model").covariances_.shape == (3, 2, 2)


def test_a_failed_fit_leaves_no_older_result_behind() -> None:
    model = private().fit(blobs())
    with pytest.raises(DataError):
        model.fit(with_value(math.nan))
    assert not hasattr(model, "guarantee_")


def test_no_error_quotes_a_value() -> None:
    for act in (private().fit, private().fit(blobs()).score):
        with pytest.raises(DataError) as caught:
            act([["1", "2"], ["secret-value", "3"]])
        assert "secret-value" not in str(caught.value)


def test_a_clone_keeps_its_ledger(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l.ledger")
    ledger.budget("blobs", "row", 1.0, 1e-5)
    clone(private(ledger=ledger, dataset="blobs")).fit(blobs())
    assert ledger.left("blobs").runs == 1


def test_a_result_is_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = private().fit(blobs())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    for place in (".", "..", "link"):
        with pytest.raises(BundleError, match="folder of its own"):
            model.save(place)


def test_the_plan_costs_nothing_and_says_everything() -> None:
    promise = private().plan(2)
    assert promise.epsilon == 1.0
    assert "weights, means and covariances" in promise.words()


def test_the_plain_fit_is_marked_and_not_charged() -> None:
    model = GaussianMixture(3, epsilon=INF).fit(blobs())
    assert "not private (epsilon infinity)" in model.guarantee_.words()
    assert model.guarantee_.events == ()


@pytest.mark.parametrize("change", [{"epsilon": INF}, {"random_state": 1}])
def test_whoever_sees_a_result_that_is_not_private_must_be_trusted(change: dict[str, Any]) -> None:
    assert "everybody who sees the result" in private(**change).plan(2).trusts
    assert "nobody who only sees the result" in private().plan(2).trusts


def test_an_unfitted_model_says_so() -> None:
    with pytest.raises(NotFittedError, match="not fitted"):
        private().predict(blobs())


def nothing(rows: np.ndarray) -> np.ndarray:
    return rows


def with_value(value: float) -> np.ndarray:
    rows = blobs(100)
    rows[3, 0] = value
    return rows


# docs/bad-input.md lists these rows; tests/test_house.py checks that each has its test here
BAD_REQUESTS: dict[str, tuple[dict[str, Any], Any, type[Exception], str]] = {
    "NaN": ({}, with_value(math.nan), DataError, "missing values"),
    "infinite": ({}, with_value(math.inf), DataError, "infinite"),
    "strings": ({}, [["a", "b"]], Exception, "could not convert|not made of numbers"),
    "no region": ({"radius": None}, blobs(), DomainError, "not declared"),
    "region declared twice": ({"bounds": (-1, 1)}, blobs(), DomainError, "declared twice"),
    "bounds reversed": ({"radius": None, "bounds": (1.0, -1.0)}, blobs(), DomainError, "not an interval"),
    "bounds of another width": ({"radius": None, "bounds": ([0, 0, 0], 1)}, blobs(), DomainError, "fit"),
    "radius 0": ({"radius": 0.0}, blobs(), DomainError, "not a length"),
    "epsilon 0": ({"epsilon": 0.0}, blobs(), ParameterError, "epsilon"),
    "epsilon negative": ({"epsilon": -1.0}, blobs(), ParameterError, "epsilon"),
    "epsilon NaN": ({"epsilon": math.nan}, blobs(), ParameterError, "epsilon"),
    "epsilon as text": ({"epsilon": "1"}, blobs(), ParameterError, "epsilon"),
    "delta 1": ({"delta": 1.0}, blobs(), ParameterError, "delta"),
    "delta negative": ({"delta": -1e-5}, blobs(), ParameterError, "delta"),
    "delta 0 with Gaussian noise": ({"delta": 0.0}, blobs(), ParameterError, "delta 0"),
    "delta missing": ({"delta": None}, blobs(), ParameterError, "delta is not chosen"),
    "more components than rows, plain": (
        {"n_components": 9, "epsilon": INF},
        blobs(5),
        ParameterError,
        "fewer rows",
    ),
    "no components": ({"n_components": 0}, blobs(), ParameterError, "n_components"),
    "half a component": ({"n_components": 2.5}, blobs(), ParameterError, "n_components"),
    "unknown method": ({"method": "magic"}, blobs(), ParameterError, "method"),
    "unknown covariance type": ({"covariance_type": "round"}, blobs(), ParameterError, "covariance_type"),
    "unknown noise": ({"noise": "pink"}, blobs(), ParameterError, "noise"),
    "no rows": ({}, np.empty((0, 2)), ValueError, "no rows|0 sample"),
    "one dimension": ({}, np.zeros(5), ValueError, "2D"),
    "wide and diagonal": (
        {"n_components": 20, "covariance_type": "diag"},
        np.zeros((10, 3000)),
        TooLargeError,
        "memory",
    ),
    "two terabytes": ({"n_components": 1_000_000}, np.zeros((10, 500)), TooLargeError, "memory"),
    "drop with method input": ({"method": "input", "missing": "drop"}, blobs(), ParameterError, "left out"),
    "epsilon next to nothing": ({"epsilon": 1e-20}, blobs(), ParameterError, "epsilon"),
    "weight without bound": ({"rows_per_person": 1e300}, blobs(), ParameterError, "rows_per_person"),
    "radius next to nothing": ({"radius": 1e-310}, blobs(), DomainError, "not a length"),
    "dataset without a ledger": ({"dataset": "x"}, blobs(), ParameterError, "no ledger"),
    "persons with method input": ({"method": "input"}, "people", ParameterError, "persons"),
}


@pytest.mark.parametrize("case", BAD_REQUESTS)
def test_bad_request(case: str, tmp_path: Path) -> None:
    changes, rows, error, words = BAD_REQUESTS[case]
    keywords: dict[str, Any] = {}
    if isinstance(rows, str):
        rows, keywords = blobs(50), {"person": np.arange(50)}
    paid = {"ledger": Ledger.create(tmp_path / "l.ledger"), "dataset": "blobs"}
    for unit in ("row", "person"):
        paid["ledger"].budget("blobs", unit, 5.0, 1e-4)
    before = paid["ledger"].head()
    with pytest.raises(error, match=words):
        private(**({} if "dataset" in changes else {**paid, "random_state": None}), **changes).fit(
            rows, **keywords
        )
    assert paid["ledger"].head() == before


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        private().fit(tmp_path / "missing.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(DataError):
        private().fit(tmp_path / "broken.parquet")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(DataError):
        private().fit(tmp_path / "empty.csv")
    pd.DataFrame({"x": [1.0, 2.0], "city": ["a", "b"]}).to_parquet(tmp_path / "text.parquet")
    with pytest.raises(DataError, match="city"):
        private(columns=["x", "city"]).fit(tmp_path / "text.parquet")
    with pytest.raises(DataError, match="'y'"):
        private(columns=["x", "y"]).fit(tmp_path / "text.parquet")


def test_more_components_than_rows_is_allowed_when_private() -> None:
    model = private(n_components=8).fit(blobs(5))
    assert np.isfinite(model.means_).all()


def test_one_person_owning_every_row_changes_little() -> None:
    rows = blobs(4000)
    model = private(n_components=1).fit(rows, person=np.zeros(4000, dtype=int))
    assert np.isfinite(model.means_).all()
    assert model.guarantee_.private


def test_constant_and_repeated_rows_fit_without_warnings() -> None:
    for epsilon in (1.0, INF):
        model = private(epsilon=epsilon).fit(np.ones((100, 2)))
        assert np.isfinite(model.score(np.ones((5, 2))))


def test_values_outside_the_region_are_clipped_without_a_word() -> None:
    rows = blobs(500)
    rows[0] = 1e300
    model = private(random_state=1, n_components=1).fit(rows)
    assert np.isfinite(model.means_).all()
    assert np.abs(model.means_).max() < 8
