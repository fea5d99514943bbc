"""Where a plain fit starts: the skeleton where there is one, and otherwise a rule that is written down here.

* Start and transitions: those of the topology, else all alike.
* Categorical emissions: drawn anew for each state, uniform among all dice (Dirichlet with ones), from
  ``random_state``.
* Gaussian emissions: each row is given to a state, and the state's mean and covariance are those of its rows.
  Rows go by their labels where they have some; in a left-right topology each sequence is cut into as many
  equal parts as there are states (uniform segmentation); else by k-means, seeded from ``random_state``.

The last two look at rows, so they are for plain fits only; a private fit starts from what was declared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.errors import ParameterError
from discreet.models.blend import Blend
from discreet.models.categorical import Categorical
from discreet.models.gaussian import Gaussian, Lens, check_covariances
from discreet.models.hmm import UNKNOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.fit.hmm.data import Sequences
    from discreet.fit.hmm.skeleton import Skeleton
    from discreet.models.moments import CovarianceType
    from discreet.randomness import Bits, Generator

__all__ = ["declare", "find_lens", "make_gaussian", "segment", "start_categorical", "start_gaussian"]

_MOST_ROWS = 20_000  # rows that k-means looks at
_SMALLEST_SCALE = 1e-100


def start_categorical(skeleton: Skeleton, states: int, symbols: int, generator: Generator) -> Categorical:
    """The skeleton's emissions, or random dice."""
    fixed = skeleton.fixed.get("emissionprob")
    declared = skeleton.values.get("emissionprob")
    if declared is not None:
        return Categorical(declared, fixed)
    return Categorical(generator.dirichlet(np.ones(symbols), size=states), fixed)


def find_lens(rows: NDArray[np.float64]) -> Lens:
    """Unit coordinates in which the rows have mean 0 and standard deviation 1, as far as they vary."""
    center, spread = rows.mean(axis=0), rows.std(axis=0)
    smallest = np.maximum(1e-12 * np.abs(center), _SMALLEST_SCALE)
    return Lens(center, np.where(spread > smallest, spread, 1.0))


def start_gaussian(
    skeleton: Skeleton,
    data: Sequences,
    shape: tuple[int, int],
    kind: CovarianceType,
    floor: float,
    bits: Bits,
    *,
    left_right: bool,
) -> Gaussian | Blend:
    """Emissions of (N, K) components: declared ones, and for the rest those of rows given to components."""
    states, size = shape
    dimension = data.rows.shape[1]
    blank = make_gaussian(
        np.zeros((states * size, dimension)),
        np.repeat(np.eye(dimension)[None], states * size, axis=0),
        "full" if size > 1 and kind == "tied" else kind,
        find_lens(data.rows),
        floor,
    )
    emission: Gaussian | Blend = blank
    if size > 1:
        emission = Blend(np.full((states, size), 1 / size), blank, kind == "tied")
    if not {"means", "covars"} <= set(skeleton.values):
        emission = _from_rows(emission, data, shape, bits, left_right=left_right)
    return declare(emission, skeleton, kind)


def make_gaussian(
    means: NDArray[np.float64],
    full: NDArray[np.float64],
    kind: CovarianceType,
    lens: Lens,
    floor: float,
) -> Gaussian:
    """Gaussians with full covariances brought into the shape of their type."""
    packed = {
        "full": full,
        "tied": full.mean(axis=0),
        "diag": np.einsum("kii->ki", full),
        "spherical": np.einsum("kii->k", full) / full.shape[1],
    }[kind]
    return Gaussian(means, packed, kind, lens, floor)


def declare(emission: Gaussian | Blend, skeleton: Skeleton, kind: CovarianceType) -> Gaussian | Blend:
    """Put in what the skeleton says, and which states keep theirs."""
    values, fixed = skeleton.values, skeleton.fixed
    components = emission.components if isinstance(emission, Blend) else emission
    size = components.states // emission.states
    dimension = components.dimension
    means, covariances = components.means, components.covariances
    if "means" in values:
        means = values["means"].reshape(-1, dimension)
    if "covars" in values:
        covariances = values["covars"]
        if isinstance(emission, Blend):
            each = covariances if kind != "tied" else np.repeat(covariances, size, axis=0)
            covariances = each.reshape(components.covariances.shape)
        check_covariances(covariances, components.kind)
    held = {name: np.repeat(mask, size) for name, mask in fixed.items() if name in ("means", "covars")}
    components = replace(
        components,
        means=means,
        covariances=covariances,
        held_means=held.get("means"),
        held_covariances=held.get("covars"),
    )
    if isinstance(emission, Blend):
        weights = values.get("weights", emission.weights)
        return replace(emission, weights=weights, components=components, fixed_weights=fixed.get("weights"))
    return components


def _from_rows(
    emission: Gaussian | Blend, data: Sequences, shape: tuple[int, int], bits: Bits, *, left_right: bool
) -> Gaussian | Blend:
    """Give each row to a component, and take the most likely parameters; what gets none looks like all."""
    states, size = shape
    rows = data.rows
    if len(rows) < states * size:
        raise ParameterError(
            "there are fewer rows than components",
            got=states * size,
            wanted="at least one row a component",
            remedy="Use fewer states, or give a skeleton.",
        )
    if data.labels is not None:
        chosen = data.labels
    elif left_right:
        chosen = segment(data.lengths, states)
    else:
        chosen = _cluster(rows, states, bits)
    if size > 1:
        chosen = _split(rows, chosen, shape, bits)
    components = emission.components if isinstance(emission, Blend) else emission
    whole = components.maximise(_sums(components, rows, None))
    sums = _sums(components, rows, chosen)
    if isinstance(emission, Blend):
        return replace(emission, components=whole).maximise(sums.reshape(states, -1))
    return whole.maximise(sums)


def segment(lengths: NDArray[np.intp], states: int) -> NDArray[np.intp]:
    """Uniform segmentation: row t of a sequence of length L belongs to state floor(t N / L)."""
    firsts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    times = np.arange(int(lengths.sum())) - firsts
    return times * states // np.repeat(lengths, lengths)


def _sums(
    components: Gaussian, rows: NDArray[np.float64], chosen: NDArray[np.intp] | None
) -> NDArray[np.float64]:
    """The sums of rows given to one component each, or of every row given to every component."""
    total: Any = 0.0
    for start in range(0, len(rows), 2**14):
        part = slice(start, start + 2**14)
        shares = np.ones((components.states, len(rows[part])))
        if chosen is not None:
            shares *= np.arange(components.states)[:, None] == chosen[part]
        total = total + components.sums(components.view(rows[part]), shares)
    return cast("NDArray[np.float64]", total)


def _cluster(rows: NDArray[np.float64], clusters: int, bits: Bits) -> NDArray[np.intp]:
    """Nearest of as many centres, found by k-means on a thinned-out part of the rows."""
    from sklearn.cluster import KMeans

    if clusters == 1:
        return np.zeros(len(rows), dtype=np.intp)
    lens = find_lens(rows)
    unit = (rows - lens.center) / lens.scale
    seed = int(bits.integers(0, 2**31, 1)[0])
    learner = KMeans(clusters, n_init=cast("Any", 1), random_state=seed)
    learner.fit(unit[:: max(1, len(unit) // _MOST_ROWS)])
    return np.asarray(learner.predict(unit), dtype=np.intp)


def _split(
    rows: NDArray[np.float64], chosen: NDArray[np.intp], shape: tuple[int, int], bits: Bits
) -> NDArray[np.intp]:
    """Components within states; states with too few rows give all of them to their first."""
    states, size = shape
    components = np.where(chosen == UNKNOWN, UNKNOWN, chosen * size)
    for state in range(states):
        here = np.flatnonzero(chosen == state)
        if len(here) >= 2 * size:
            components[here] += _cluster(rows[here], size, bits)
    return components
