"""Private fits: from a checked request and a start to a released model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError, TooLargeError
from discreet.fit.hmm.counts import fit_counts
from discreet.fit.hmm.labelled import fit_labelled
from discreet.fit.hmm.points import fit_points
from discreet.fit.hmm.scoring import fit_scores
from discreet.fit.hmm.task import Task
from discreet.fit.hmm.windows import fit_windows, window_length
from discreet.mechanisms.noise import plan_noise
from discreet.models.categorical import Categorical
from discreet.models.gaussian import Gaussian, Lens, check_covariances, unpack_covariances
from discreet.models.hmm import HMM
from discreet.models.logits import Tables
from discreet.models.moments import Frame
from discreet.records.blas import single_blas
from discreet.records.sequences import hold_sequences
from discreet.statistic import Statistic

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.domain import Region
    from discreet.fit.hmm.data import Sequences
    from discreet.fit.hmm.request import Plan, Request
    from discreet.fit.hmm.skeleton import Skeleton
    from discreet.fit.hmm.task import Payment
    from discreet.models.chain import Chain

__all__ = ["Ready", "check_noise", "check_room", "declared_frame", "fit_private", "hold"]

_FITS = {"score": fit_scores, "labelled": fit_labelled, "iterate": fit_counts, "moments": fit_windows}
_LIMIT_BYTES = 4 * 2**30
_WALKS = 10  # arrays (states, rows) that are held for the longest sequence
_WIDEST = 1e12  # declared variances: this times the region's, or its inverse, at most


@dataclass(frozen=True)
class Ready:
    """A private fit in which nothing can be refused any more: all that is left is to pay for it.

    ``start`` is where a model of symbols starts; ``region`` and, if it was declared, ``frame`` are those of a
    model of points.
    """

    wanted: Request
    planned: Plan
    task: Task
    skeleton: Skeleton
    chain: Chain
    start: HMM | None = None
    region: Region | None = None
    frame: Frame | None = None


def fit_private(ready: Ready, payment: Payment) -> HMM:
    """The released model; ``payment`` has been charged for the whole plan."""
    with single_blas():
        if ready.start is not None:
            return _fit_symbols(ready, ready.start, payment)
        assert ready.region is not None
        return _fit_points(ready, ready.region, payment)


def check_room(wanted: Request, dimension: int) -> None:
    """Refuse what would not fit into memory, before any of it is taken."""
    longest = wanted.max_length or 1
    features = 1 + dimension + dimension * (dimension + 1) // 2 if wanted.family == "gaussian" else 0
    walk = 8 * longest * (_WALKS * wanted.n_states + features)
    answer = 8 * 4 * wanted.n_states * (1 + wanted.n_states + max(wanted.n_symbols, 2 * features))
    if walk + answer > _LIMIT_BYTES:
        raise TooLargeError(
            "sequences this long do not fit into memory with so many states",
            got=f"{wanted.n_states} states, max_length {longest}",
            wanted=f"about {_LIMIT_BYTES // 2**30} GiB at most for the longest sequence",
            remedy="Declare a smaller max_length: longer sequences are cut.",
        )


def check_noise(wanted: Request, planned: Plan, dimension: int) -> None:
    """Refuse a plan whose noise is too large to be drawn exactly, before any of it is drawn."""
    states, features = wanted.n_states, 1 + dimension + dimension * (dimension + 1) // 2
    size = states * (1 + states + (features if wanted.family == "gaussian" else wanted.n_symbols))
    if planned.method == "moments":
        size = wanted.n_symbols ** window_length(wanted.n_symbols, wanted.max_length or 1)
    units = wanted.sequences_per_person * 2.0**30
    loudest = max(planned.guarantee.events, key=lambda event: event.noise)
    spare = loudest.scaled(4)  # samplers have their own limits, a little lower
    plan_noise(Statistic(np.zeros(size, dtype=object), 1.0, units, units, loudest.label), spare)


def hold(
    wanted: Request,
    data: Sequences,
    person: object,
    region: Region | None,
    progress: Callable[[int, int], None] | None,
    factors: NDArray[np.float64] | None = None,
) -> Task:
    """The sequences as records: cut to the declared length, weighted per person, moved into the region."""
    rows = data.rows.reshape(len(data.rows), -1)
    if region is not None:
        rows = np.ascontiguousarray(region.to_unit(np.ascontiguousarray(rows.T)).T)
    held = hold_sequences(
        rows,
        data.lengths,
        max_length=wanted.max_length,
        states=data.labels,
        person=person,
        sequences_per_person=wanted.sequences_per_person if person is not None else 1.0,
        factors=factors,
    )
    return Task(
        held,
        wanted.max_length or 1,
        rows.shape[1],
        wanted.sequences_per_person if person is not None else 1.0,
        wanted.engine,
        progress,
    )


def _fit_symbols(ready: Ready, start: HMM, payment: Payment) -> HMM:
    """A model of symbols by the planned method."""
    emission = start.emission
    assert isinstance(emission, Categorical)
    tables = Tables(start.chain.start, start.chain.transition, emission.probabilities)
    masks = [ready.skeleton.fixed.get(name) for name in ("startprob", "transmat", "emissionprob")]
    fixed = _line(masks, tables)
    fit = _FITS[ready.planned.method]
    fitted = fit(ready.task, tables, fixed, ready.planned.guarantee.events, payment)
    return HMM(fitted.chain, Categorical(fitted.emission, emission.fixed))


def _fit_points(ready: Ready, region: Region, payment: Payment) -> HMM:
    """A model of points; the covariance floor holds in the coordinates of the data."""
    wanted = ready.wanted
    fitted = fit_points(
        ready.task,
        ready.chain,
        ready.frame,
        dict(ready.skeleton.fixed),
        wanted.covariance_type,
        max(wanted.min_covar / float(np.max(region.scale)) ** 2, 1 / _WIDEST),
        region.reach,
        ready.planned.guarantee.events,
        payment,
    )
    frame = fitted.frame
    means = region.center + region.scale * _inside(frame.means, region, ready.skeleton.fixed.get("means"))
    full = frame.covariances * np.outer(region.scale, region.scale)
    packed = {
        "full": full,
        "tied": full.mean(axis=0),
        "diag": np.einsum("kii->ki", full).copy(),
        "spherical": np.einsum("kii->k", full) / full.shape[1],
    }[wanted.covariance_type]
    return HMM(
        fitted.chain, Gaussian(means, packed, wanted.covariance_type, Lens(region.center, region.scale))
    )


def _inside(
    means: NDArray[np.float64], region: Region, held: NDArray[np.bool_] | None
) -> NDArray[np.float64]:
    """The means in unit coordinates, those that noise pushed out of the region moved to its border.

    No row lies outside, so no mean of rows does.
    """
    moved = region.to_unit((region.center + region.scale * means).T).T
    return moved if held is None else np.where(held[:, None], means, moved)


def declared_frame(skeleton: Skeleton, wanted: Request, region: Region) -> Frame | None:
    """The declared Gaussians in unit coordinates; missing covariances are those of the region."""
    if "means" not in skeleton.values:
        if "covars" in skeleton.values:
            raise ParameterError(
                "the skeleton of a private fit has covars, but no means", remedy="Give both, or only means."
            )
        return None
    means = (skeleton.values["means"] - region.center) / region.scale
    states, dimension = means.shape
    full = np.repeat(np.eye(dimension)[None] * region.reach**2 / dimension, states, axis=0)
    if "covars" in skeleton.values:
        declared = unpack_covariances(skeleton.values["covars"], means, wanted.covariance_type)
        check_covariances(declared, "full")
        full = declared / region.scale[:, None] / region.scale
        values = np.linalg.eigvalsh(full) if np.isfinite(full).all() else np.zeros(1)
        if values.min() < 1 / _WIDEST or values.max() > _WIDEST:
            raise ParameterError(
                "a covariance of the skeleton is far too narrow or too wide for the declared region",
                wanted=f"standard deviations from {_WIDEST**-0.5:g} to {_WIDEST**0.5:g} of its size",
            )
    return Frame.of(np.full(states, 1 / states), np.clip(means, -1, 1), full)


def _line(masks: list[NDArray[np.bool_] | None], tables: Tables) -> NDArray[np.bool_] | None:
    if all(mask is None for mask in masks):
        return None
    parts = [
        np.zeros(part.shape, dtype=bool) if mask is None else mask
        for mask, part in zip(masks, tables.parts(), strict=True)
    ]
    return np.concatenate([part.ravel() for part in parts])
