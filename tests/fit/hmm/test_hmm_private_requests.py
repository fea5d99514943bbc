"""Private fits of any request: refused before anything is charged, or finished; and every look is noised."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.accounting.account import Account
from discreet.accounting.ledger import Ledger
from discreet.errors import DiscreetError, ParameterError, TooLargeError
from discreet.fit import CategoricalHMM, GaussianHMM
from discreet.fit.hmm import belief, counts, points, private, windows
from discreet.fit.hmm import run as runs
from discreet.fit.hmm.data import Sequences
from discreet.fit.hmm.measure import CountQuestion, measure
from discreet.fit.hmm.request import Request, check
from discreet.fit.hmm.run import run
from discreet.fit.hmm.schedule import METHODS
from discreet.models.categorical import Categorical
from discreet.models.chain import Chain
from discreet.models.gaussian import unpack_covariances
from discreet.models.hmm import HMM
from discreet.models.logits import Logits, Tables
from discreet.models.moments import Frame
from discreet.models.sequences import pack_sequences
from discreet.randomness import seeded
from discreet.records import sequences as held

LONG = os.environ.get("DISCREET_LONG") == "1"
FITS = 3000 if LONG else 50
INF = float("inf")


@pytest.fixture(autouse=True)
def few_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is errors and shapes that are sought here, not good fits."""
    monkeypatch.setattr(belief, "_DRAWN", 2000)
    monkeypatch.setattr(belief, "_FEWEST", 50)
    monkeypatch.setattr(windows, "_DRAWN", 2000)
    monkeypatch.setattr(windows, "STEPS", 3)
    monkeypatch.setattr(points, "_DRAWN", 2000)
    monkeypatch.setattr(counts, "_MOST", 100)


class Till(Account):
    """An account that remembers whether one was opened."""

    opened = 0

    def __init__(self, *parts: Any, **more: Any) -> None:
        super().__init__(*parts, **more)
        Till.opened += 1


@pytest.fixture(autouse=True)
def till(monkeypatch: pytest.MonkeyPatch) -> None:
    Till.opened = 0
    monkeypatch.setattr(runs, "Account", Till)


def rows_of(draw: np.random.Generator, shape: tuple[int, ...], zeros: float) -> np.ndarray:
    made = draw.dirichlet(np.full(shape[-1], draw.choice([0.1, 1.0, 5.0])), size=shape[:-1])
    made = np.where(draw.random(shape) < zeros, 0.0, made)
    made = np.where(made.sum(axis=-1, keepdims=True) > 0, made, 1.0 / shape[-1])
    return made / made.sum(axis=-1, keepdims=True)


def skeleton_of(draw: np.random.Generator, wanted: dict[str, Any], dimension: int) -> dict[str, Any]:
    """Any parts of a model, with zeros."""
    states, zeros = wanted["n_states"], float(draw.choice([0.0, 0.3, 0.6]))
    made: dict[str, Any] = {}
    if wanted["topology"] is None and draw.random() < 0.7:
        made["startprob"] = rows_of(draw, (states,), zeros)
        made["transmat"] = rows_of(draw, (states, states), zeros)
    if wanted["family"] == "categorical":
        made["emissionprob"] = rows_of(draw, (states, wanted["n_symbols"]), zeros)
        return made
    made["means"] = draw.normal(size=(states, dimension)) * draw.choice([0.1, 1.0, 10.0])
    if draw.random() < 0.6:
        stretch = draw.normal(size=(states, dimension, dimension))
        full = np.einsum("nij,nkj->nik", stretch, stretch) + 1e-3 * np.eye(dimension)
        full *= draw.choice([1e-320, 1e-6, 1.0, 1e4, 1e200])
        made["covars"] = {
            "full": full,
            "tied": full[0],
            "diag": np.einsum("nii->ni", full),
            "spherical": full[:, 0, 0],
        }[wanted["covariance_type"]]
    return made


def fixed_of(draw: np.random.Generator, skeleton: dict[str, Any]) -> dict[str, Any]:
    """Held entries of some parts: none, some or all of them."""
    made: dict[str, Any] = {}
    for name, value in skeleton.items():
        if draw.random() < 0.4:
            shape = value.shape if name not in ("means", "covars") else skeleton["means"].shape[:1]
            made[name] = draw.random(shape) < draw.choice([0.4, 0.9, 1.0])
    return made


def any_request(seed: int) -> tuple[dict[str, Any], Sequences, Any]:
    """A request, its data, and who owns them: from small to absurd."""
    draw = np.random.default_rng(seed)
    pick = draw.choice
    count, longest, dimension = (
        int(pick([1, 2, 5, 30, 150])),
        int(pick([1, 2, 3, 8, 40])),
        int(pick([1, 2, 9])),
    )
    lengths = draw.integers(1, int(pick([2, longest + 1, 2 * longest + 2])), count).astype(np.intp)
    labelled = draw.random() < 0.3
    wanted: dict[str, Any] = {
        "family": str(pick(["categorical", "categorical", "gaussian"])),
        "n_states": int(pick([1, 2, 3, 14])),
        "n_symbols": int(pick([1, 2, 3, 30, 300])),
        "epsilon": float(pick([1e-6, 1e-3, 0.1, 1.0, 100.0, 1e4])),
        "delta": float(pick([1e-300, 1e-30, 1e-6, 0.1])),
        "max_length": longest,
        "method": "auto",
        "topology": pick([None, None, "left-right"]),
        "max_iter": 5,
        "tol": 0.0,
        "person": None,
        "ledger": None,
        "dataset": None,
        "bits": seeded(seed),
        "covariance_type": str(pick(["full", "tied", "diag", "spherical"])),
        "min_covar": float(pick([1e-12, 1e-3, 1.0])),
        "noise": str(pick(["gaussian", "laplace"])),
        "n_rounds": pick([None, None, 1, 3, 100 if seed % 10 == 0 else 2]),
    }
    if not labelled:
        any_method = (
            ["auto", "iterate"] if wanted["family"] == "gaussian" else ["score", "iterate", "moments"]
        )
        wanted["method"] = str(pick(any_method))
    skeleton = skeleton_of(draw, wanted, dimension) if draw.random() < 0.6 else {}
    wanted["skeleton"], wanted["fixed"] = skeleton or None, fixed_of(draw, skeleton) or None
    person = None
    if draw.random() < 0.3:
        person = draw.integers(0, max(1, count // 2), count)
        wanted["sequences_per_person"] = float(pick([0.01, 1.0, 3.0, 1e6]))
    size = int(lengths.sum())
    if wanted["family"] == "categorical":
        rows = draw.integers(0, wanted["n_symbols"], (size, 1))
        rows = rows if draw.random() < 0.6 else np.full_like(rows, rows[0, 0])
    else:
        wanted["n_symbols"] = 0
        rows = draw.normal(size=(size, dimension)) * pick([1e-8, 1.0, 1e8, 1e98])
        if draw.random() < 0.5:
            wanted["radius"] = float(pick([1.0, 1e-3, 1e6, 1e150, 1e-150]))
        else:
            wanted["bounds"] = (np.full(dimension, -1e-3), np.full(dimension, 2.0))
    labels = draw.integers(-1, wanted["n_states"], size).astype(np.intp) if labelled else None
    return wanted, Sequences(rows, lengths, labels), person


def check_model(model: Any) -> None:
    emission = model.emission
    tables = [model.chain.start, model.chain.transition]
    if hasattr(emission, "probabilities"):
        tables.append(emission.probabilities)
    else:
        assert np.isfinite(emission.means).all()
        full = unpack_covariances(emission.covariances, emission.means, emission.kind)
        assert np.isfinite(full).all()
        assert (np.linalg.eigvalsh(full) > 0).all()
    for table in tables:
        assert np.isfinite(table).all()
        assert (table >= 0).all()
        assert np.allclose(table.sum(axis=-1), 1, atol=1e-6)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_request_fails_after_it_was_charged() -> None:
    """Hundreds of requests: what is refused is refused for free, and all else ends in a model."""
    done = 0
    for seed in range(FITS):
        wanted, data, person = any_request(seed)
        Till.opened = 0
        try:
            outcome = run(check(Request(**wanted)), data, person=person)
        except DiscreetError as error:
            assert not Till.opened, (seed, error)
            continue
        except Exception as error:  # the seed must be seen
            raise AssertionError(seed) from error
        check_model(outcome.model)
        done += 1
    assert done > FITS / 2


SYMBOLS = np.array([0, 1, 1, 0, 1, 0])
LENGTHS = [3, 2, 1]


def symbols(**more: Any) -> CategoricalHMM:
    usual: dict[str, Any] = {"n_states": 2, "n_symbols": 2, "epsilon": 1.0, "delta": 1e-6, "max_length": 3}
    return CategoricalHMM(**{**usual, "random_state": 0, **more})


def gaussians(**more: Any) -> GaussianHMM:
    usual: dict[str, Any] = {"n_states": 2, "epsilon": 1.0, "delta": 1e-6, "max_length": 3, "radius": 1.0}
    return GaussianHMM(**{**usual, "random_state": 0, **more})


@pytest.mark.parametrize("sizes", [(1, 1), (2, 1), (1, 2), (3, 1)])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("method", ["score", "iterate", "moments"])
def test_models_without_anything_to_learn_are_fitted_too(
    sizes: tuple[int, int], noise: str, method: str
) -> None:
    """What is not drawn, since there is no question left, stays undrawn."""
    states, faces = sizes
    model = symbols(n_states=states, n_symbols=faces, noise=noise, method=method, delta=1e-6)
    model.fit(np.minimum(SYMBOLS, faces - 1), LENGTHS)
    assert model.emissionprob_.shape == (states, faces)
    drawn = sum(event["drawn"] for event in model.receipt_["account"]["plan"])
    assert model.n_iter_ == drawn - 1


WIDE = {"startprob": [0.5, 0.5], "means": [[0.0], [0.5]]}


@pytest.mark.parametrize(
    ("family", "wrong"),
    [
        ("categorical", {"method": "moments", "n_symbols": 300}),
        ("categorical", {"method": "moments", "n_rounds": 3}),
        ("categorical", {"n_rounds": 101}),
        ("categorical", {"n_rounds": 10**9}),
        ("categorical", {"noise": "laplace", "epsilon": 1e-6, "n_rounds": 100}),
        ("categorical", {"max_length": 2**62 + 1}),
        ("gaussian", {"skeleton": {**WIDE, "covars": [[1.0], [-1.0]]}}),
        ("gaussian", {"skeleton": {**WIDE, "covars": [[1.0], [1e-200]]}}),
        ("gaussian", {"skeleton": {**WIDE, "covars": [[1.0], [1e200]]}}),
        ("gaussian", {"skeleton": {"covars": [[1.0], [1.0]]}}),
    ],
)
def test_what_cannot_be_done_is_refused_before_it_is_charged(
    family: str, wrong: dict[str, Any], tmp_path: Any
) -> None:
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.budget("people", "sequence", 10.0, 1e-3)
    before = ledger.left("people")
    more = {**wrong, "ledger": ledger, "dataset": "people", "random_state": None}
    with pytest.raises((ParameterError, TooLargeError)):
        if family == "categorical":
            symbols(**more).fit(SYMBOLS, LENGTHS)
        else:
            gaussians(**more).fit(SYMBOLS[:, None] / 2, LENGTHS)
    assert not Till.opened
    assert ledger.left("people") == before


def test_callers_who_want_floating_point_errors_get_none_from_private_sums() -> None:
    """An error that depends on a sequence would tell about it."""
    emission = np.array([[1.0, 1e-200], [0.5, 0.5]])
    model = HMM(Chain(np.array([1.0, 0.0]), np.eye(2)), Categorical(emission))
    question = CountQuestion(model, np.ones(10), 1.0, "l2")
    rows = np.ones((6, 1), dtype=np.intp)
    [pack] = pack_sequences(np.array(LENGTHS))
    with pytest.raises(FloatingPointError), np.errstate(all="raise"):
        question.answers(rows, pack, None)
    with np.errstate(all="raise"):
        measure(held.hold_sequences(rows, np.array(LENGTHS)), question, 1.0, "test")


def test_rows_in_which_next_to_nothing_is_free_stay_rows() -> None:
    """1 minus what is fixed may round to nothing, or below."""
    start = np.array([0.3, 0.7 - 3e-17, 1e-17, 2e-17])
    tables = Tables(start, np.eye(4), np.full((4, 2), 0.5))
    fixed = np.zeros(len(tables.flat()), dtype=bool)
    fixed[:2] = True
    logits = Logits.of(tables, fixed)
    model = logits.model(logits.flatten(tables))
    assert np.allclose(model.start, start, rtol=1e-6)
    assert (logits.rest > 0).all()


def every_method() -> list[tuple[str, Any]]:
    return [*((method, symbols) for method in METHODS), ("iterate", gaussians), ("labelled", gaussians)]


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize(("method", "made"), every_method())
def test_every_look_at_the_sequences_is_noised_and_paid_for(
    method: str, made: Any, noise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So noise in the last round alone, as published, cannot be had: it needs looks without noise."""
    looks: list[str] = []
    honest = held.Sequences.map_reduce

    def look(self: Any, function: Any, broadcast: Any, engine: Any = None) -> Any:
        looks.append(type(broadcast).__name__)
        return honest(self, function, broadcast, engine)

    monkeypatch.setattr(held.Sequences, "map_reduce", look)
    model = made(method=method, noise=noise)
    rows = SYMBOLS if made is symbols else SYMBOLS[:, None] / 2
    model.fit(rows, LENGTHS, states=SYMBOLS if method == "labelled" else None)
    plan = model.receipt_["account"]["plan"]
    assert [event["drawn"] for event in plan] == [1] * len(plan)
    assert len(looks) == len(plan) == len(model.guarantee_.events)
    assert looks[0] == "Census"
    assert all(event.mechanism == noise and event.noise > 0 for event in model.guarantee_.events)


@pytest.mark.parametrize("name", ["last", "final", "published", "last-iteration", "noise-last", "em", ""])
def test_the_published_mode_has_no_name(name: str) -> None:
    with pytest.raises(ParameterError):
        symbols(method=name).plan()
    with pytest.raises(ParameterError):
        symbols(noise=name).plan()


def test_no_option_says_where_noise_goes() -> None:
    """Neither an argument of the estimators nor an option of the command line."""
    from typer.main import get_command

    from discreet.cli import app

    names = [*symbols().get_params(), *gaussians().get_params()]
    waiting: list[Any] = [get_command(app)]
    while waiting:
        command = waiting.pop()
        waiting.extend(getattr(command, "commands", {}).values())
        names.extend(option for parameter in command.params for option in (parameter.name, *parameter.opts))
    assert len(names) > 60
    forbidden = ("last_", "-last", "final", "every_iteration", "noise_at", "noise-at", "insecure", "unsafe")
    assert not [name for name in names if any(word in str(name) for word in forbidden)]


def test_a_fit_without_a_budget_says_that_it_is_not_private() -> None:
    model = symbols(epsilon=INF, delta=None).fit(SYMBOLS, LENGTHS)
    assert not model.guarantee_.private
    assert "not private" in model.guarantee_.summary().lower()
    assert not model.guarantee_.events
    assert model.receipt_["account"]["private"] is False
    assert math.isinf(model.guarantee_.epsilon)


@pytest.mark.parametrize("region", [{"radius": 1.0}, {"radius": None, "bounds": ([-1.0, 0.0], [1.0, 4.0])}])
def test_noise_moves_no_mean_out_of_the_region(
    region: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    wild = np.array([[9.0, -9.0], [0.2, 0.1]])

    def fitted(task: Any, chain: Chain, start: Frame, *rest: Any) -> points.PointModel:
        return points.PointModel(chain, replace(start, means=wild))

    monkeypatch.setattr(private, "fit_points", fitted)
    skeleton = {"means": [[0.0, 0.0], [0.5, 0.5]]}
    rows = np.stack([SYMBOLS, SYMBOLS], axis=1) / 4
    model = gaussians(skeleton=skeleton, **region).fit(rows, LENGTHS)
    if "bounds" in region:
        np.testing.assert_allclose(model.means_, [[1.0, 0.0], [0.2, 2.2]])
    else:
        np.testing.assert_allclose(model.means_, [[0.5**0.5, -(0.5**0.5)], [0.2, 0.1]])
