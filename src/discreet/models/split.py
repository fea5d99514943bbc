"""Grow a mixture by splitting components: parameters in, parameters out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.models.moments import Frame

if TYPE_CHECKING:
    from discreet.models.moments import CovarianceType

__all__ = ["split"]

STEP = 0.6  # halves move this many standard deviations apart, to either side


def split(frame: Frame, components: int, covariance_type: CovarianceType) -> Frame:
    """Halve the heaviest components along their longest axis until there are this many, at most doubling.

    The two halves of a component keep its mean and covariance between them. Nothing is drawn at random:
    spherical components, which have no longest axis, take the coordinates in turn.
    """
    extra = min(components, 2 * frame.size) - frame.size
    chosen = np.argsort(-frame.weights, kind="stable")[:extra]
    weights, means, covariances = frame.weights.copy(), frame.means, frame.covariances
    weights[chosen] /= 2
    axes = _axes(covariances[chosen], frame.size, covariance_type) * STEP
    covariances[chosen] -= np.einsum("ki,kj->kij", axes, axes)
    if covariance_type == "tied":
        covariances[:] = np.einsum("k,kij->ij", frame.weights, covariances)
    if covariance_type == "spherical":
        variances = np.einsum("kii->k", covariances) / means.shape[1]
        covariances = variances[:, None, None] * np.eye(means.shape[1])
    below = means[chosen] - axes
    means = means.copy()
    means[chosen] += axes
    return Frame.of(
        np.concatenate([weights, weights[chosen]]),
        np.concatenate([means, below]),
        np.concatenate([covariances, covariances[chosen]]),
    )


def _axes(covariances: np.ndarray, size: int, covariance_type: CovarianceType) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariances)
    longest = vectors[:, :, -1] * np.sqrt(values[:, -1:])
    if covariance_type == "spherical":
        dimension = covariances.shape[1]
        turn = (size.bit_length() - 1) % dimension
        longest = np.eye(dimension)[turn] * np.sqrt(values[:, -1:])
    return longest
