"""Repair: joining exposed states to others, so that noise hides them too, with little more noise.

The paper asks for the graph that contains the given one, exposes nobody, and has the hull of least volume
(section 6.1); in many dimensions that is #P-hard. Adding an edge only enlarges the hull, so protection never
falls again, and each exposed state needs one edge at most: any rule that joins each to some other state ends
with nobody exposed.

*Is one edge for each exposed state enough for the optimum?* Yes. In an optimal graph every exposed state i
has some j with f(j) - f(i) in its hull K'. The hull with just those edges added lies within K' and protects
the same states. So the optimum is one choice of a partner for each exposed state, which `exact` searches,
cutting off branches that are already too large (volumes only grow).

Rules:
    nearest-euclid, nearest-l1, nearest-gauge   join each to its nearest state, in the order of their numbers
                  (algorithm 1; "nearest" in which sense matters: the running example shows it)
    area          join each to the state that adds the least volume (algorithm 3), in several orders, then
                  reconsider each choice while that helps; the best of these. Where a few are exposed, search
                  as `exact` does, for a limited number of steps
    exact         the optimum, for a few exposed states
Flat hulls have no area, and noise on them releases exactly what lies off their line or plane. So where the
hull is flat before the repair, `area` compares expected errors instead: a long thin hull is not small, and a
full one that is short is taken before it.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from discreet.errors import ParameterError, TooLargeError
from discreet.mechanisms.gauge import expected_squared_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.mechanisms.body import Body

__all__ = ["RULES", "Repairer", "Rule", "check_rule"]

Rule = Literal["area", "exact", "nearest-euclid", "nearest-l1", "nearest-gauge", "refuse"]
RULES: tuple[str, ...] = get_args(Rule)

_ALL_ORDERS = 4
_MOST_EXACT = 8
_ROUNDS = 4
_PATIENCE = 200
_RECONSIDER = 40

Size = tuple[float, float]
Edges = dict[int, int]


class Repairer:
    """Finds repair edges among some states, counted from 0.

    ``units`` (n, d) are their answers in steps, and ``answers`` in the numbers of the query, which say what
    is near.
    """

    def __init__(
        self,
        units: NDArray[np.int64],
        answers: NDArray[np.float64],
        base: Body,
        hull: Callable[[NDArray[np.int64]], Body],
    ) -> None:
        self._units = units
        self._answers = answers
        self._base = base
        self._hull = hull

    def repair(self, exposed: Sequence[int], rule: Rule | Mapping[int, int]) -> Edges:
        """A partner for each exposed state that needs one."""
        if not isinstance(rule, str):
            return {state: rule[state] for state in exposed if state in rule}
        if rule == "exact":
            return self._exact(list(exposed))
        if rule == "area":
            return self._area(list(exposed))
        return self._choose(list(exposed), lambda state, body: self._nearest(state, body, rule))

    def join(self, edges: Edges, body: Body | None = None) -> Body:
        """The body with the differences of these edges."""
        body = self._base if body is None else body
        if not edges:
            return body
        moves = np.array([self._units[i] - self._units[j] for i, j in edges.items()])
        return self._hull(np.concatenate([body.corners, moves]))

    def covered(self, state: int, body: Body) -> bool:
        """Whether some other state lies within the body around this one."""
        near = body.contains(self._units - self._units[state])
        near[state] = False
        return body.rank > 0 and bool(near.any())

    def _choose(
        self, order: Sequence[int], pick: Callable[[int, Body], int], given: Edges | None = None
    ) -> Edges:
        """Join the states of an order one after another, as far as the given edges leave them exposed."""
        edges = dict(given or {})
        body = self.join(edges)
        for state in order:
            if not self.covered(state, body):
                edges[state] = pick(state, body)
                body = self.join({state: edges[state]}, body)
        return edges

    def _nearest(self, state: int, body: Body, rule: str) -> int:
        if rule == "nearest-gauge":
            distance = body.gauge(self._units - self._units[state])
        else:
            distance = self._distance(state, 1 if rule == "nearest-l1" else 2)
        distance[self._same(state)] = np.inf
        if not np.isfinite(distance).any():  # off the line of a flat body: the gauge says nothing
            return self._nearest(state, body, "nearest-euclid")
        return int(distance.argmin())

    def _distance(self, state: int, order: int) -> NDArray[np.float64]:
        """The l1 or Euclidean distance of all answers from that of a state."""
        return np.linalg.norm(self._answers - self._answers[state], ord=order, axis=1)

    def _same(self, state: int) -> NDArray[np.bool_]:
        return ~(self._units != self._units[state]).any(axis=1)

    def _least(self, state: int, body: Body) -> int:
        """The partner that adds the least volume; the nearer one among equals."""
        partners = np.flatnonzero(~self._same(state))
        if body.span.whole and body.rank:
            added = body.growth((self._units - self._units[state])[partners])
            return int(partners[np.lexsort((self._distance(state, 2)[partners], added))[0]])
        sizes = [self._measure(self.join({state: int(partner)}, body)) for partner in partners]
        return int(partners[min(range(len(partners)), key=sizes.__getitem__)])

    def _area(self, exposed: list[int]) -> Edges:
        """In several orders; then, for a few exposed states, the search for as long as patience lasts."""
        found = self._in_orders(exposed)
        few = len(exposed) <= _MOST_EXACT and self._base.span.whole and len(exposed) > 1
        return self._search(exposed, found, _PATIENCE) if few else found

    def _in_orders(self, exposed: list[int]) -> Edges:
        candidates = [self._choose(order, self._least) for order in self._orders(exposed)]
        best = min(candidates, key=lambda edges: self._measure(self.join(edges)))
        return self._reconsider(exposed, best) if len(exposed) <= _RECONSIDER else best

    def _orders(self, exposed: list[int]) -> list[tuple[int, ...]]:
        """All orders of few states; otherwise the near ones first, the far ones first, and as they come."""
        if len(exposed) <= _ALL_ORDERS:
            return list(permutations(exposed))
        nearest = {state: self._distance(state, 2)[~self._same(state)].min() for state in exposed}
        rising = sorted(exposed, key=nearest.__getitem__)
        return [tuple(rising[::-1]), tuple(rising), tuple(exposed)]

    def _reconsider(self, exposed: list[int], edges: Edges) -> Edges:
        """Take each edge away, and protect who is exposed then again, while that makes the body smaller."""
        size = self._measure(self.join(edges))
        for _ in range(_ROUNDS):
            before = size
            for state in list(edges):
                others = {key: value for key, value in edges.items() if key != state}
                changed = self._choose(exposed, self._least, others)
                if (now := self._measure(self.join(changed))) < size:
                    edges, size = changed, now
            if size == before:
                break
        return edges

    def _measure(self, body: Body) -> Size:
        """What makes one repair smaller than another: its area, or its error if the hull was flat before."""
        area, error = _size(body)
        return (area, error) if self._base.rank and self._base.span.whole else (error, area)

    def _exact(self, exposed: list[int]) -> Edges:
        if len(exposed) > _MOST_EXACT:
            raise TooLargeError(
                "too many states are exposed to search for the optimum",
                got=len(exposed),
                wanted=f"at most {_MOST_EXACT}",
                remedy='Use repair="area".',
            )
        return self._search(exposed, self._in_orders(exposed), None)

    def _search(self, exposed: list[int], best: Edges, patience: int | None) -> Edges:
        """Depth first over the partners of each exposed state, small bodies first, for so many nodes at
        most.
        """
        bound = _size(self.join(best))
        stack: list[tuple[int, Edges, Body]] = [(0, {}, self._base)]
        while stack and patience != 0:
            patience = None if patience is None else patience - 1
            depth, edges, parent = stack.pop()
            body = self.join(dict(list(edges.items())[-1:]), parent)
            if edges and _size(body) >= bound:
                continue
            while depth < len(exposed) and self.covered(exposed[depth], body):
                depth += 1  # hidden already: a partner within the body adds nothing
            if depth == len(exposed):
                best, bound = edges, _size(body)
                continue
            state = exposed[depth]
            partners, areas = self._areas(state, body)
            for at in np.argsort(-areas, kind="stable"):
                if areas[at] <= bound[0]:
                    stack.append((depth + 1, {**edges, state: int(partners[at])}, body))
        return best

    def _areas(self, state: int, body: Body) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The possible partners of a state, and how large the body would become with each."""
        partners = np.flatnonzero(~self._same(state))
        if body.span.whole and body.rank:
            return partners, body.area + body.growth((self._units - self._units[state])[partners])
        areas = [self.join({state: int(partner)}, body).area for partner in partners]
        return partners, np.array(areas)


def check_rule(rule: object, size: int) -> None:
    """Refuse a rule that is none of ours, or a mapping that names unknown states."""
    if isinstance(rule, str):
        if rule not in RULES:
            raise ParameterError("no such rule of repair", got=rule, wanted=", ".join(RULES))
        return
    if not hasattr(rule, "items"):
        raise ParameterError("repair is neither a rule nor edges", got=type(rule).__name__)
    for state, partner in rule.items():  # type: ignore[attr-defined]
        if not (0 <= state < size and 0 <= partner < size and state != partner):
            raise ParameterError("a repair edge names an unknown state, or joins a state with itself")


def _size(body: Body) -> Size:
    return (body.area, expected_squared_error(body, 1.0))
