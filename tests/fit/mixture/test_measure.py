"""What is measured is what EM needs: local moments, exactly; with no noise, the textbook's M-step."""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Reference

from discreet.domain import Box
from discreet.fit import GaussianMixture
from discreet.fit.mixture.kernel import BITS, Sight, plain_sums
from discreet.fit.mixture.measure import (
    GridFrame,
    Layout,
    gather,
    localise,
    rescale,
    second_weights,
    sum_exactly,
)
from discreet.fit.mixture.scales import Scales
from discreet.models.moments import COVARIANCE_TYPES, Frame, Moments, Pairs, maximise
from discreet.records import Chunk, open_records

LONG = os.environ.get("DISCREET_LONG") == "1"
INF = float("inf")


def frame_of(seed: int, dimension: int, components: int, kind: str, spread: float = 0.1) -> Frame:
    draw = np.random.default_rng(seed)
    means = draw.uniform(-0.7, 0.7, (components, dimension))
    stretch = draw.normal(size=(components, dimension, dimension)) * 0.5
    covariances = spread * (np.eye(dimension) + stretch @ stretch.transpose(0, 2, 1))
    if kind in ("diag", "spherical"):
        covariances = covariances * np.eye(dimension)
    if kind == "spherical":
        covariances = np.eye(dimension) * np.einsum("kii->k", covariances)[:, None, None] / dimension
    if kind == "tied":
        covariances[:] = covariances[0]
    weights = draw.dirichlet(np.full(components, 5.0))
    return Frame.of(weights, means, covariances)


def free_layout(dimension: int, components: int, kind: Any) -> Layout:
    """A layout that clips nobody."""
    scales = replace(Scales.choose(dimension, kind, "l2"), limit=2.0**60)
    return Layout(components, Pairs.of(kind, dimension), scales)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
@pytest.mark.parametrize(("dimension", "components"), [(1, 1), (2, 3), (4, 2)])
def test_localise_is_the_float_oracle_carried_out_in_integers(
    kind: Any, dimension: int, components: int
) -> None:
    grid = GridFrame.of(frame_of(1, dimension, components, kind))
    layout = free_layout(dimension, components, kind)
    box = Box((-1.0,) * dimension, (1.0,) * dimension)
    rows = np.rint(np.random.default_rng(0).uniform(-1, 1, (300, dimension)) * 2**BITS) / 2**BITS
    counts, first, second = localise(
        sum_exactly(open_records(rows), grid, box, layout, None), grid, layout.pairs
    )
    shares = np.stack(
        [
            sum_exactly(open_records(row[None]), grid, box, layout, None)[:, 0].astype(float) / 2**BITS
            for row in rows
        ]
    )
    local = np.einsum("kij,nkj->nki", grid.frame.inverses, rows[:, None] - grid.frame.means)
    squares = layout.pairs.pack(np.einsum("nk,nki,nkj->kij", shares, local, local))
    assert np.allclose(counts.astype(float) / 2**20, shares.sum(axis=0), rtol=1e-12)
    assert np.allclose(
        first.astype(float) / 2.0**70, np.einsum("nk,nki->ki", shares, local), rtol=0, atol=1e-9
    )
    assert np.allclose(second.astype(float) / 2.0**120, squares, rtol=1e-9, atol=1e-9)


@settings(max_examples=30 if not LONG else 500, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from(COVARIANCE_TYPES))
def test_localise_of_one_row_is_exact(seed: int, dimension: int, kind: Any) -> None:
    """R, R z and R z z' in fractions, for a single row of integers."""
    grid = GridFrame.of(frame_of(seed, dimension, 2, kind, spread=1e-4))
    pairs = Pairs.of(kind, dimension)
    draw = np.random.default_rng(seed)
    row = [int(value) for value in draw.integers(-(2**20), 2**20, dimension, endpoint=True)]
    shares = [int(value) for value in draw.integers(0, 2**20, 2)]
    products = [row[i] * row[j] for i, j in zip(pairs.rows, pairs.columns, strict=True)]
    low = [(value + 2**19) % 2**20 - 2**19 for value in products]
    high = [(value - rest) >> 20 for value, rest in zip(products, low, strict=True)]
    sums = np.array([[share * value for value in (1, *row, *high, *low)] for share in shares], dtype=object)
    counts, first, second = localise(sums, grid, pairs)
    assert list(counts) == shares
    for k, share in enumerate(shares):
        moved = [x - int(m) for x, m in zip(row, grid.means[k], strict=True)]
        local = [sum(int(a) * b for a, b in zip(line, moved, strict=True)) for line in grid.inverses[k]]
        assert list(first[k]) == [share * z for z in local]
        wanted = [share * local[i] * local[j] for i, j in zip(pairs.rows, pairs.columns, strict=True)]
        assert list(second[k]) == wanted


@given(st.lists(st.integers(-(2**180), 2**180), min_size=1, max_size=5), st.floats(0.001, 1.5))
def test_rescale_rounds_to_the_nearest_unit(values: list[int], weight: float) -> None:
    weight = math.floor(weight * 2**30) / 2**30
    array = np.array(values, dtype=object)
    found = rescale(array, np.full(len(values), weight), 120)
    for value, whole in zip(values, found, strict=True):
        exact = Fraction(value, 2**120) * Fraction(weight) * 2**36
        assert abs(exact - int(whole)) <= Fraction(1, 2)


def test_no_multiplier_is_rounded_up() -> None:
    """Multipliers that are too large would make rows weigh more than their cost says."""
    for dimension in (1, 2, 3, 10, 50):
        for kind in COVARIANCE_TYPES:
            for norm in ("l1", "l2"):
                scales = Scales.choose(dimension, kind, norm)
                pairs = Pairs.of(kind, dimension)
                for value, entry in zip(second_weights(pairs, scales.second), pairs.twice, strict=True):
                    assert Fraction(float(value)) ** 2 <= Fraction(scales.second) ** 2 * Fraction(
                        float(entry)
                    )
                    assert (float(value) * 2**30).is_integer()
                assert (scales.first * 2**30).is_integer()


def test_a_frame_on_the_grid_is_what_it_says() -> None:
    frame = frame_of(3, 3, 4, "full", spread=1e-5)
    grid = GridFrame.of(replace(frame, means=frame.means * 3))
    assert np.abs(grid.frame.means).max() <= 1
    assert (grid.means.astype(float) == grid.frame.means * 2**20).all()
    assert (grid.inverses.astype(float) == grid.frame.inverses * 2**30).all()
    assert np.allclose(grid.frame.inverses @ grid.frame.roots, np.eye(3), atol=1e-10)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_what_is_read_back_is_what_was_measured(kind: Any, norm: Any) -> None:
    dimension, components = 3, 2
    grid = GridFrame.of(frame_of(5, dimension, components, kind))
    scales = replace(Scales.choose(dimension, kind, norm), limit=2.0**60)
    layout = Layout(components, Pairs.of(kind, dimension), scales)
    rows = np.random.default_rng(5).uniform(-1, 1, (500, dimension))
    box = Box((-1.0,) * dimension, (1.0,) * dimension)
    statistic = gather(sum_exactly(open_records(rows), grid, box, layout, None), grid, layout, 1.0, "moments")
    assert len(statistic.total) == layout.size
    moments = layout.read(statistic.total.astype(float) * statistic.grid, 0.0)
    wanted = plain_moments(rows, grid.frame, box, layout)
    assert np.allclose(moments.counts, wanted.counts, atol=1e-2)
    assert np.allclose(moments.first, wanted.first, atol=2e-2)
    if kind == "spherical":
        assert np.allclose(
            np.trace(moments.second, axis1=1, axis2=2), np.trace(wanted.second, axis1=1, axis2=2), rtol=1e-3
        )
    elif kind == "diag":
        squares = np.einsum("kii->ki", moments.second)
        assert np.allclose(squares, np.einsum("kii->ki", wanted.second), rtol=1e-3)
    else:
        assert np.allclose(moments.second, wanted.second, rtol=1e-3, atol=5e-2)


def plain_moments(rows: np.ndarray, frame: Frame, box: Box, layout: Layout) -> Moments:
    chunk = Chunk(np.ascontiguousarray(rows.T), None)
    sums = plain_sums(chunk, Sight.of(frame, box, layout.pairs))["sums"]
    dimension = layout.pairs.dimension
    moments = Moments.from_sums(
        frame, sums[:, 0], sums[:, 1 : 1 + dimension], layout.pairs.unpack(sums[:, 1 + dimension :])
    )
    return moments.pooled() if layout.tied else moments


@pytest.mark.parametrize("source", ["plain", "exact"])
@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_without_noise_a_round_is_the_textbooks(kind: Any, source: str) -> None:
    """One E-step and one M-step, beside scikit-learn's."""
    draw = np.random.default_rng(9)
    rows = np.clip(np.concatenate([draw.normal(m, 0.15, (400, 2)) for m in (-0.4, 0.1, 0.6)]), -1, 1)
    grid = GridFrame.of(frame_of(6, 2, 3, kind, spread=0.05))
    box, layout = Box((-1.0, -1.0), (1.0, 1.0)), free_layout(2, 3, kind)
    if source == "plain":
        moments = plain_moments(rows, grid.frame, box, layout)
    else:
        sums = sum_exactly(open_records(rows), grid, box, layout, None)
        statistic = gather(sums, grid, layout, 1.0, "moments")
        moments = layout.read(statistic.total.astype(float) * statistic.grid, 0.0)
    ours = maximise(grid.frame, moments, kind, 1e-300)
    theirs = reference_step(rows, grid.frame, kind)
    loose = 1e-9 if source == "plain" else 1e-4
    assert np.allclose(ours.weights, theirs.weights_, atol=loose)
    assert np.allclose(ours.means, theirs.means_, atol=loose)
    assert np.allclose(ours.covariances, full(theirs.covariances_, kind), atol=loose)


def reference_step(rows: np.ndarray, frame: Frame, kind: str) -> Reference:
    precisions = np.linalg.inv(frame.covariances)
    packed = {
        "full": precisions,
        "tied": precisions[0],
        "diag": np.einsum("kii->ki", precisions),
        "spherical": precisions[:, 0, 0],
    }[kind]
    model = Reference(
        frame.size,
        covariance_type=kind,
        reg_covar=0.0,
        max_iter=1,
        weights_init=frame.weights,
        means_init=frame.means,
        precisions_init=packed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(rows)


def full(covariances: np.ndarray, kind: str) -> np.ndarray:
    if kind == "tied":
        return np.repeat(covariances[None], 3, axis=0)
    if kind == "diag":
        return covariances[:, :, None] * np.eye(2)
    return covariances[:, None, None] * np.eye(2) if kind == "spherical" else covariances


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
@pytest.mark.parametrize("method", ["joint", "published"])
def test_a_fit_at_a_huge_budget_ends_near_the_plain_one(kind: str, method: str) -> None:
    draw = np.random.default_rng(4)
    rows = np.concatenate([draw.normal(m, 0.5, (1500, 2)) for m in ((-3, 0), (3, 1), (0, 4))])
    shared = {"bounds": (-8.0, 8.0), "covariance_type": kind, "random_state": 1}
    plain = GaussianMixture(3, epsilon=INF, **shared).fit(rows)
    rounds = 60 if method == "published" else None
    private = GaussianMixture(3, epsilon=1e6, delta=1e-5, method=method, n_rounds=rounds, **shared).fit(rows)
    assert private.score(rows) > plain.score(rows) - 0.01
    order, plain_order = np.argsort(private.means_[:, 0]), np.argsort(plain.means_[:, 0])
    assert np.allclose(private.means_[order], plain.means_[plain_order], atol=0.02)
    assert np.allclose(private.weights_[order], plain.weights_[plain_order], atol=0.01)


DEGENERATE = {
    "all rows equal": np.full((500, 2), 0.25),
    "one row": np.array([[0.3, -0.3]]),
    "two rows": np.array([[0.3, -0.3], [0.3, -0.3]]),
    "a constant column": np.column_stack([np.linspace(-1, 1, 300), np.zeros(300)]),
    "all in a corner": np.ones((300, 2)),
    "all outside": np.full((300, 2), 1e300),
    "on a line": np.linspace(-1, 1, 300)[:, None] * np.ones(2),
}


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
@pytest.mark.parametrize("epsilon", [1e-3, 1e5])
def test_frames_survive_rows_that_have_no_shape(case: str, kind: str, epsilon: float) -> None:
    """More components than rows, no spread at all, hopeless noise: the result is still a mixture."""
    for method, noise in (("joint", "gaussian"), ("joint", "laplace"), ("published", "gaussian")):
        model = GaussianMixture(
            4,
            epsilon=epsilon,
            delta=1e-6 if noise == "gaussian" else None,
            bounds=(-1.0, 1.0),
            covariance_type=kind,
            method=method,
            noise=noise,
            n_rounds=6,
            random_state=7,
        ).fit(DEGENERATE[case])
        assert np.isfinite(model.means_).all()
        assert np.isfinite(model.covariances_).all()
        assert math.isclose(model.weights_.sum(), 1.0, rel_tol=1e-9)
        assert (model.weights_ > 0).all()
        assert np.isfinite(model.score_samples(np.zeros((1, 2)))).all()


@pytest.mark.parametrize("seed", range(4))
def test_frames_survive_many_rounds_of_nothing_but_noise(seed: int) -> None:
    model = GaussianMixture(
        6, epsilon=1e-4, delta=1e-6, radius=1.0, n_rounds=60, random_state=seed, reg_covar=1e-12
    ).fit(np.zeros((3, 3)))
    assert np.isfinite(model.covariances_).all()
    assert np.linalg.eigvalsh(model.covariances_).min() > 0
