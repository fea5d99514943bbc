"""Baum-Welch without any noise: the oracle of the private fits.

**Reveals** anything: its result is not private.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from discreet.errors import DataError
from discreet.models.sequences import frames_for, pack_sequences
from discreet.records.blas import single_blas

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    from numpy.typing import NDArray

    from discreet.fit.hmm.data import Sequences
    from discreet.models.hmm import HMM, Counts, View
    from discreet.models.sequences import Pack

__all__ = ["PlainFit", "count_all", "fit_plain", "make_views"]

_KEPT = 2**28  # bytes of views that are kept over the rounds; larger data are looked at anew in each


@dataclass(frozen=True)
class PlainFit:
    """The model reached, how many rounds it took, and whether the likelihood had settled.

    The likelihood is the last that was computed: that of the model if it had settled, else that before.
    """

    model: HMM
    rounds: int
    converged: bool
    log_likelihood: float


def fit_plain(
    model: HMM,
    data: Sequences,
    rounds: int,
    tolerance: float,
    *,
    fixed_start: NDArray[np.bool_] | None = None,
    fixed_transition: NDArray[np.bool_] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PlainFit:
    """At most so many rounds, until a round gains less than ``tolerance`` a row."""
    views = make_views(model, data)
    before = -math.inf
    for index in range(rounds):
        counts = count_all(model, views, data)
        if not counts.possible:
            raise DataError(
                "the start can emit none of the sequences",
                remedy="Look for zeros in the skeleton or topology that the data or labels contradict.",
            )
        if (counts.log_likelihood - before) / data.frames < tolerance:
            return PlainFit(model, index, True, counts.log_likelihood)
        before = counts.log_likelihood
        model = model.maximise(counts, fixed_start=fixed_start, fixed_transition=fixed_transition)
        if progress is not None:
            progress(index + 1, rounds)
    return PlainFit(model, rounds, tolerance <= 0, before)


def make_views(model: HMM, data: Sequences) -> Iterable[Callable[[], View]]:
    """The packs of the data, each as a function that looks at its rows; small data are looked at once."""
    packs = pack_sequences(data.lengths, frames_for(model.chain.states))
    sources = [_viewer(model, data, pack) for pack in packs]
    first = sources[0]()
    assert first.features is not None
    if first.features.nbytes / packs[0].frames * data.frames > _KEPT:
        return sources
    return [_kept(first), *(_kept(source()) for source in sources[1:])]


def count_all(
    model: HMM, views: Iterable[Callable[[], View]], data: Sequences, workers: int | None = None
) -> Counts:
    """The expected counts of all sequences: packs go to threads, and are added in their order."""
    work = list(views)

    def count(source: Callable[[], View]) -> Counts:
        view = source()
        weights = None if data.weights is None else data.weights[view.pack.sequences]
        return model.count(view, weights)

    workers = min(workers or os.cpu_count() or 1, len(work))
    with single_blas():
        if workers == 1:
            return reduce(add, map(count, work))
        with ThreadPoolExecutor(workers) as pool:
            return reduce(add, pool.map(count, work))


def _viewer(model: HMM, data: Sequences, pack: Pack) -> Callable[[], View]:
    return lambda: model.view(data.rows, pack, data.labels)


def _kept(view: View) -> Callable[[], View]:
    return lambda: view
