"""Summing variables out of a product of tables, one after the other, in an order that keeps tables small.

Eliminating a variable multiplies all factors that mention it into one table over their variables (a cluster)
and sums it out. The order is greedy: next goes the variable whose cluster would have the fewest cells, of
equal ones that which joins the fewest strangers. All clusters are known before anything is multiplied, so a
product that is too large is refused with its number of cells.

The clusters form a tree: the table left by eliminating v belongs to the cluster of whichever of its variables
goes next. Passing tables up and then down this tree (`Elimination.calibrate`) gives the margins of all
clusters in two passes (Shafer and Shenoy 1990; Dechter's bucket trees).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["MOST_FACTOR_CELLS", "Elimination", "Factor", "multiply"]

MOST_FACTOR_CELLS = 2**25
"""How many cells the largest product of an elimination may have, unless another limit is given."""


@dataclass(frozen=True)
class Factor:
    """A table with one axis for each variable of its scope."""

    scope: tuple[str, ...]
    table: NDArray[np.float64]

    def fixed(self, evidence: Mapping[str, int]) -> Factor:
        """The slice in which some variables have known states."""
        index = tuple(evidence.get(name, slice(None)) for name in self.scope)
        return Factor(tuple(name for name in self.scope if name not in evidence), self.table[index])

    def margin(self, scope: Sequence[str]) -> NDArray[np.float64]:
        """The table summed down to some variables, with axes in their order."""
        gone = tuple(axis for axis, name in enumerate(self.scope) if name not in scope)
        left = [name for name in self.scope if name in scope]
        return self.table.sum(axis=gone).transpose([left.index(name) for name in scope])


def multiply(
    factors: Iterable[Factor], scope: tuple[str, ...], cards: Mapping[str, int]
) -> NDArray[np.float64]:
    """The product of factors as a table over ``scope``, which contains all their variables."""
    product = np.ones([cards[name] for name in scope])
    for factor in factors:
        product *= _spread(factor, scope, cards)
    return product


def _spread(factor: Factor, scope: tuple[str, ...], cards: Mapping[str, int]) -> NDArray[np.float64]:
    """A factor's table with its axes where ``scope`` has them, and length one elsewhere."""
    order = sorted(range(len(factor.scope)), key=lambda axis: scope.index(factor.scope[axis]))
    held = set(factor.scope)
    return factor.table.transpose(order).reshape([cards[name] if name in held else 1 for name in scope])


@dataclass(frozen=True)
class Elimination:
    """An order of variables and the cluster that each makes; the variables of ``kept`` stay.

    ``clusters`` maps each eliminated variable, in order, to its cluster: itself first, then the others.
    """

    cards: Mapping[str, int]
    clusters: Mapping[str, tuple[str, ...]]
    kept: tuple[str, ...]

    @classmethod
    def plan(
        cls,
        cards: Mapping[str, int],
        scopes: Iterable[Collection[str]],
        kept: tuple[str, ...] = (),
        most: int = MOST_FACTOR_CELLS,
    ) -> Elimination:
        """Choose an order for factors with these scopes; raises `TooLargeError` past ``most`` cells."""
        near: dict[str, set[str]] = {name: set() for name in cards}
        for scope in scopes:
            for one, other in combinations(scope, 2):
                near[one].add(other)
                near[other].add(one)
        for one, other in combinations(kept, 2):  # the result is a table over all that is kept
            near[one].add(other)
            near[other].add(one)
        _refuse(kept, cards, most)
        clusters = _choose(near, cards, set(cards) - set(kept), most)
        return cls(cards, clusters, kept)

    def run(self, factors: Iterable[Factor]) -> NDArray[np.float64]:
        """The product of the factors, summed over all variables but those that are kept."""
        waiting = list(factors)
        for name, cluster in self.clusters.items():
            bucket = [factor for factor in waiting if name in factor.scope]
            waiting = [factor for factor in waiting if name not in factor.scope]
            product = multiply(bucket, cluster, self.cards)
            waiting.append(Factor(cluster[1:], product.sum(axis=0)))
        return multiply(waiting, self.kept, self.cards)

    def calibrate(self, factors: Iterable[Factor]) -> dict[str, Factor]:
        """The margin of the product over every cluster, by its first variable; nothing may be kept."""
        buckets: dict[str, list[Factor]] = {name: [] for name in self.clusters}
        place = {name: turn for turn, name in enumerate(self.clusters)}
        rest = 1.0
        for factor in factors:
            if factor.scope:
                buckets[min(factor.scope, key=place.__getitem__)].append(factor)
            else:
                rest *= float(factor.table)
        products: dict[str, NDArray[np.float64]] = {}
        sent: dict[str, NDArray[np.float64]] = {}
        for name, cluster in self.clusters.items():
            products[name] = multiply(buckets[name], cluster, self.cards)
            sent[name] = products[name].sum(axis=0)
            if len(cluster) > 1:
                buckets[min(cluster[1:], key=place.__getitem__)].append(Factor(cluster[1:], sent[name]))
            else:
                rest *= float(sent[name])
        return self._pass_down(products, sent, place, rest)

    def _pass_down(
        self,
        products: dict[str, NDArray[np.float64]],
        sent: dict[str, NDArray[np.float64]],
        place: Mapping[str, int],
        total: float,
    ) -> dict[str, Factor]:
        beliefs: dict[str, Factor] = {}
        for name in reversed(list(self.clusters)):
            cluster = self.clusters[name]
            above = np.asarray(total)
            if len(cluster) > 1:
                above = beliefs[min(cluster[1:], key=place.__getitem__)].margin(cluster[1:])
            ratio = np.divide(above, sent[name], out=np.zeros_like(sent[name]), where=sent[name] > 0)
            beliefs[name] = Factor(cluster, products[name] * ratio)
        return beliefs

    def margins(
        self, beliefs: Mapping[str, Factor], scopes: Mapping[str, tuple[str, ...]]
    ) -> dict[str, NDArray[np.float64]]:
        """Margins over scopes that each lie in one cluster, from what `calibrate` gave."""
        place = {name: turn for turn, name in enumerate(self.clusters)}
        return {
            key: beliefs[min(scope, key=place.__getitem__)].margin(scope) for key, scope in scopes.items()
        }


def _choose(
    near: dict[str, set[str]], cards: Mapping[str, int], left: set[str], most: int
) -> dict[str, tuple[str, ...]]:
    """The greedy order; eliminating a variable joins its neighbours."""
    turn = {name: index for index, name in enumerate(cards)}
    price = {name: _price(name, near, cards) for name in left}
    clusters: dict[str, tuple[str, ...]] = {}
    while left:
        name = min(left, key=lambda name: (*price[name], turn[name]))
        around = sorted(near.pop(name), key=turn.__getitem__)
        clusters[name] = (name, *around)
        _refuse(clusters[name], cards, most)
        left.discard(name)
        touched = set(around)
        for one in around:
            near[one] |= set(around)
            near[one] -= {name, one}
            touched |= near[one]
        for one in touched & left:
            price[one] = _price(one, near, cards)
    return clusters


def _price(name: str, near: Mapping[str, set[str]], cards: Mapping[str, int]) -> tuple[float, int]:
    """The logarithm of the cells of a variable's cluster, and how many pairs of strangers it would join."""
    size = math.log(cards[name]) + sum(math.log(cards[other]) for other in near[name])
    strangers = sum(other not in near[one] for one, other in combinations(near[name], 2))
    return round(size, 9), strangers


def _refuse(cluster: Collection[str], cards: Mapping[str, int], most: int) -> None:
    cells = math.prod(cards[name] for name in cluster)
    if cells > most:
        raise TooLargeError(
            f"the answer needs a table over {len(cluster)} variables at once",
            got=f"{cells:,} cells",
            wanted=f"at most {most:,}",
            remedy="Ask for fewer variables, give more evidence, or sample from the network instead.",
        )
