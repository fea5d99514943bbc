"""The plain mixture against scikit-learn, its oracle, and at the edges of float64."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture as Oracle

from discreet.errors import ParameterError
from discreet.models.mixture import Mixture
from discreet.models.moments import Frame
from discreet.models.split import split
from discreet.randomness import generator, seeded


def random_mixture(seed: int, components: int = 4, dimension: int = 3, offset: float = 0.0) -> Mixture:
    draw = np.random.default_rng(seed)
    roots = draw.normal(size=(components, dimension, dimension)) + 2 * np.eye(dimension)
    return Mixture(
        draw.dirichlet(np.ones(components)),
        offset + draw.normal(scale=4, size=(components, dimension)),
        roots @ roots.transpose(0, 2, 1),
    )


def oracle_of(mixture: Mixture) -> Oracle:
    oracle = Oracle(len(mixture.weights))
    oracle.weights_, oracle.means_, oracle.covariances_ = mixture.weights, mixture.means, mixture.covariances
    roots = np.linalg.cholesky(mixture.covariances)
    oracle.precisions_cholesky_ = np.linalg.inv(roots).transpose(0, 2, 1)
    return oracle


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_densities_agree_with_scikit_learn(seed: int, dimension: int) -> None:
    mixture = random_mixture(seed, dimension=dimension)
    points = np.random.default_rng(seed + 100).normal(scale=6, size=(300, dimension))
    oracle = oracle_of(mixture)
    np.testing.assert_allclose(mixture.log_density(points), oracle.score_samples(points), rtol=1e-9)
    np.testing.assert_allclose(mixture.responsibilities(points), oracle.predict_proba(points), atol=1e-9)
    assert (mixture.predict(points) == oracle.predict(points)).all()
    assert mixture.score(points) == pytest.approx(oracle.score(points))


def test_densities_far_from_the_origin_lose_no_digits() -> None:
    near, far = random_mixture(1), random_mixture(1, offset=5e6)
    points = np.random.default_rng(2).normal(scale=6, size=(200, 3))
    np.testing.assert_allclose(far.log_density(points + 5e6), near.log_density(points), atol=1e-6)


def test_samples_have_the_moments_of_the_mixture() -> None:
    mixture = random_mixture(3)
    points, labels = mixture.sample(200_000, generator(seeded(1)))
    mean = mixture.weights @ mixture.means
    spread = np.sqrt(np.einsum("k,kii->i", mixture.weights, mixture.covariances) + 16)
    assert np.all(np.abs(points.mean(axis=0) - mean) < 6 * spread * 2 / np.sqrt(200_000))
    shares = np.bincount(labels, minlength=4) / 200_000
    np.testing.assert_allclose(shares, mixture.weights, atol=0.01)


def test_points_of_another_shape_are_refused() -> None:
    with pytest.raises(ParameterError, match="do not fit the mixture"):
        random_mixture(0).score(np.zeros((3, 2)))


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_splitting_keeps_weight_mean_and_type(covariance_type: str) -> None:
    whole = Frame.whole(3, 1.0)
    frame = split(split(whole, 2, covariance_type), 4, covariance_type)  # type: ignore[arg-type]
    assert frame.size == 4
    assert frame.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(frame.weights @ frame.means, 0, atol=1e-12)
    assert len(np.unique(frame.means.round(9), axis=0)) == 4
    if covariance_type == "spherical":
        for covariance in frame.covariances:
            np.testing.assert_allclose(covariance, covariance[0, 0] * np.eye(3), atol=1e-12)


def test_full_splits_keep_the_covariance_of_the_whole() -> None:
    frame = split(Frame.whole(3, 1.0), 2, "full")
    within = np.einsum("k,kij->ij", frame.weights, frame.covariances)
    between = np.einsum("k,ki,kj->ij", frame.weights, frame.means, frame.means)
    np.testing.assert_allclose(within + between, Frame.whole(3, 1.0).covariances[0], atol=1e-12)
