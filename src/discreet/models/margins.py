"""From noisy tables to a network: margins made consistent, mass kept, doubt shared out by a declared prior.

All of it is post-processing of released numbers: free, and the same for one curator and for many parties.

**Consistent margins.** Families overlap, and noise makes their tables disagree about what they share. Write
a table as a sum of interactions, one for each subset S of its family (the analysis of variance): the
interaction of S is orthogonal to that of any other subset, and every family that contains S measures it, with
a variance in proportion to the cells that are summed away. Their average with inverse weights is the
least-squares estimate, in closed form, and makes any two tables agree on every shared margin.

**Rows.** `discreet.models.backoff` turns each table into probabilities: no count is negative, none is
nothing, and rows with few people lean on rows with fewer parents.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.models.backoff import conditional
from discreet.models.network import Network
from discreet.models.tally import inner_margin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from discreet.models.structure import Structure

__all__ = ["consistent", "parameters"]

_SMALLEST_PRIOR = 1e-3
_MOST_SHARED = 1024  # sets for two families; of larger overlaps only the small sets are made to agree


def parameters(
    tables: Mapping[str, ArrayLike], structure: Structure, *, prior: float, sigma: float | None = None
) -> Network:
    """The network that the counts of families stand for.

    ``tables`` holds counts by node, exact (``sigma`` None or 0) or with Gaussian noise of standard deviation
    ``sigma`` in every cell; at least those of `Structure.measured`. ``prior`` is how many imaginary rows each
    parent configuration gets, spread evenly over the states of the node. It may be 0 only without noise: then
    rows are those of maximum likelihood, and a configuration that never occurred gets even probabilities.
    """
    held = _check(tables, structure, prior, sigma)
    if not sigma:
        exact = {
            node: held[node] if node in held else inner_margin(node, held, structure)
            for node in structure.nodes
        }
        return Network(structure, {node: _rows(table, prior) for node, table in exact.items()})
    held = consistent(held, structure)
    fitted: dict[str, NDArray[np.float64]] = {}
    for node in structure.nodes:
        table = held[node] if node in held else inner_margin(node, held, structure)
        fitted[node] = conditional(table, sigma * _spread_of(node, held, structure), prior)
    return Network(structure, fitted)


def consistent(
    tables: Mapping[str, NDArray[np.float64]], structure: Structure
) -> dict[str, NDArray[np.float64]]:
    """The tables moved, by least squares with equal variances, until they agree on all shared margins."""
    families = {node: structure.families[node] for node in tables}
    moved = {node: table.copy() for node, table in tables.items()}
    for subset in _shared(families, structure):
        holders = [node for node, family in families.items() if subset <= set(family)]
        parts = [_interaction(tables[node], families[node], subset) for node in holders]
        rest = [tables[node].size / parts[0].size for node in holders]  # cells summed away, a cell
        mean = sum(part / share for part, share in zip(parts, rest, strict=True)) / sum(1 / r for r in rest)
        for node, part, share in zip(holders, parts, rest, strict=True):
            moved[node] += _spread((mean - part) / share, families[node], subset, structure)
    return moved


def _shared(families: Mapping[str, tuple[str, ...]], structure: Structure) -> list[frozenset[str]]:
    """Every set of nodes that lies in two families, small sets first."""
    found: set[frozenset[str]] = set()
    sets = {frozenset(family) for family in families.values()}
    for one, other in itertools.combinations(sets, 2):
        both = [node for node in structure.nodes if node in one & other]
        sizes = np.cumsum([math.comb(len(both), size) for size in range(len(both) + 1)])
        for size in np.flatnonzero(sizes <= _MOST_SHARED).tolist():
            found.update(map(frozenset, itertools.combinations(both, size)))
    return sorted(found, key=lambda subset: (len(subset), sorted(subset)))


def _interaction(
    table: NDArray[np.float64], family: tuple[str, ...], subset: frozenset[str]
) -> NDArray[np.float64]:
    """The margin of the table over the subset, less its mean along each axis in turn; axes sorted by name."""
    gone = tuple(axis for axis, name in enumerate(family) if name not in subset)
    left = [name for name in family if name in subset]
    part = table.sum(axis=gone).transpose([left.index(name) for name in sorted(left)])
    for axis in range(part.ndim):
        part = part - part.mean(axis=axis, keepdims=True)
    return part


def _spread(
    part: NDArray[np.float64], family: tuple[str, ...], subset: frozenset[str], structure: Structure
) -> NDArray[np.float64]:
    """The interaction as a table that can be added to that of the family."""
    names = sorted(subset)
    inside = [name for name in family if name in subset]
    shape = [structure.card(name) if name in subset else 1 for name in family]
    return part.transpose([names.index(name) for name in inside]).reshape(shape)


def _spread_of(node: str, held: Mapping[str, NDArray[np.float64]], structure: Structure) -> float:
    """The deviation of a cell of a family, in those of a measured cell: 1, or that of a mean of margins."""
    if node in held:
        return 1.0
    family, size = set(structure.families[node]), math.prod(structure.shape(node))
    hosts = [table.size / size for other, table in held.items() if family <= set(structure.families[other])]
    return 1 / math.sqrt(sum(1 / cells for cells in hosts))


def _rows(table: NDArray[np.float64], prior: float) -> NDArray[np.float64]:
    """Rows in proportion to counts and the prior; even where there is neither."""
    counts = table + prior / table.shape[-1]
    sums = counts.sum(axis=-1, keepdims=True)
    return np.divide(counts, sums, out=np.full(counts.shape, 1 / table.shape[-1]), where=sums > 0)


def _check(
    tables: Mapping[str, ArrayLike], structure: Structure, prior: float, sigma: float | None
) -> dict[str, NDArray[np.float64]]:
    structure.check_size()
    if not (math.isfinite(prior) and prior >= 0):
        raise ParameterError("the prior is not a number of rows", got=prior, wanted=">= 0 and finite")
    if sigma is not None and not (math.isfinite(sigma) and sigma >= 0):
        raise ParameterError("sigma is not a standard deviation", got=sigma, wanted=">= 0 and finite")
    if sigma and prior < _SMALLEST_PRIOR:
        raise ParameterError(
            "noisy tables need a prior", got=prior, wanted=f">= {_SMALLEST_PRIOR}", remedy="Usually 1."
        )
    lacking = [node for node in structure.measured if node not in tables]
    if lacking:
        raise ParameterError(
            "tables are missing", got=lacking[:8], wanted="at least those of Structure.measured"
        )
    held = {node: np.asarray(tables[node], dtype=np.float64) for node in structure.nodes if node in tables}
    for node, table in held.items():
        if table.shape != structure.shape(node):
            raise ParameterError(
                f"the table of {node!r} has another shape", got=table.shape, wanted=str(structure.shape(node))
            )
        if not np.isfinite(table).all():
            raise ParameterError(f"the table of {node!r} holds what is no number")
    return held
