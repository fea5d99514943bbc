"""A Bayesian network over declared states: tables, exact answers, samples, divergence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.domain import code_type
from discreet.errors import ParameterError, StateError
from discreet.models.elimination import MOST_FACTOR_CELLS, Elimination, Factor
from discreet.models.structure import MOST_CELLS, Structure
from discreet.randomness import generator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.randomness import Bits, Generator

__all__ = ["MOST_CELLS", "Network", "Structure"]

_OFF = 1e-6  # how far a row of a table may be from a sum of one


@dataclass(frozen=True, repr=False)
class Network:
    """A structure and, for every node, the probabilities of its states given each parent configuration.

    ``tables`` maps every node to an array of `Structure.shape`: one axis a parent, the node's own axis last,
    summing to one along it.
    """

    structure: Structure
    tables: Mapping[str, NDArray[np.float64]]

    def __post_init__(self) -> None:
        self.structure.check_size()
        if set(self.tables) != set(self.structure.nodes):
            raise ParameterError(
                "a network needs a table for each node and no other", got=len(self.tables), wanted="one each"
            )
        tables = {node: self._table(node) for node in self.structure.nodes}
        object.__setattr__(self, "tables", tables)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.structure!r})"

    def _table(self, node: str) -> NDArray[np.float64]:
        table = np.asarray(self.tables[node], dtype=np.float64)
        if table.shape != self.structure.shape(node):
            raise ParameterError(
                f"the table of {node!r} has another shape",
                got=table.shape,
                wanted=str(self.structure.shape(node)),
            )
        if not (np.isfinite(table).all() and (table >= 0).all()):
            raise ParameterError(f"the table of {node!r} holds what is no probability", wanted="0 to 1")
        if (np.abs(table.sum(axis=-1) - 1) > _OFF).any():
            raise ParameterError(f"the rows of the table of {node!r} do not sum to one", wanted="sums of one")
        return table

    def cpt(self, node: str) -> NDArray[np.float64]:
        """The table of one node: a copy."""
        self._check_nodes([node])
        return self.tables[node].copy()

    def query(
        self,
        variables: Sequence[str],
        evidence: Mapping[str, str] | None = None,
        *,
        most: int = MOST_FACTOR_CELLS,
    ) -> NDArray[np.float64]:
        """P[variables | evidence] as an array with one axis a variable, by variable elimination.

        Raises `StateError` for evidence that the network holds impossible, and `TooLargeError` with the
        number of cells, before memory is taken, if a product would pass ``most``.
        """
        known = self._codes_of(evidence or {})
        asked = tuple([variables] if isinstance(variables, str) else variables)
        self._check_nodes(asked)
        if not asked or len(set(asked)) < len(asked) or set(asked) & set(known):
            raise ParameterError(
                "the variables of a query are not distinct nodes outside the evidence",
                got=list(asked),
                wanted="at least one, each once",
            )
        factors = [self._factor(node).fixed(known) for node in self._ancestors({*asked, *known})]
        cards = {name: self.structure.card(name) for factor in factors for name in factor.scope}
        plan = Elimination.plan(cards, [factor.scope for factor in factors], asked, most)
        joint = plan.run(factors)
        total = joint.sum()
        if not total > 0:
            raise StateError(
                "the evidence is impossible in this network", got=dict(evidence or {}), wanted="other states"
            )
        return joint / total

    def margins(self, *, most: int = MOST_FACTOR_CELLS) -> dict[str, NDArray[np.float64]]:
        """The joint probabilities of every family, with the axes of its table: all in two passes."""
        structure = self.structure
        cards = {node: structure.card(node) for node in structure.nodes}
        plan = Elimination.plan(cards, structure.families.values(), (), most)
        beliefs = plan.calibrate([self._factor(node) for node in structure.nodes])
        return plan.margins(beliefs, structure.families)

    def log_probability(self, codes: Mapping[str, NDArray[np.integer]]) -> NDArray[np.float64]:
        """The natural logarithm of the probability of each row of codes; as private as the rows are."""
        self._check_nodes(codes)
        missing = [node for node in self.structure.nodes if node not in codes]
        if missing:
            raise ParameterError("rows lack columns", got=missing[:8], wanted="one column a node")
        total = np.zeros(len(codes[self.structure.nodes[0]]))
        with np.errstate(divide="ignore"):
            for node, family in self.structure.families.items():
                total += np.log(self.tables[node])[tuple(codes[name] for name in family)]
        return total

    def sample(self, n: int, bits: Bits) -> dict[str, NDArray[np.signedinteger]]:
        """``n`` rows of codes drawn from the network, parents first; costs nothing once it is released."""
        if isinstance(n, bool) or n < 0:
            raise ParameterError("cannot draw so many rows", got=n, wanted="at least 0")
        draws = generator(bits)
        drawn: dict[str, NDArray[np.signedinteger]] = {}
        for node in self.structure.order:
            drawn[node] = self._draw(node, drawn, n, draws)
        return {node: drawn[node] for node in self.structure.nodes}

    def divergence(self, other: Network, *, most: int = MOST_FACTOR_CELLS) -> float:
        """The Kullback-Leibler divergence KL(self || other) of the whole joint, in nats, exactly.

        Both factor along the same families F, so it is the sum over nodes of
            sum over configurations of F: P[F] log(P[node | parents] / Q[node | parents]).
        """
        if other.structure != self.structure:
            raise ParameterError(
                "the divergence is computed by families, which differ", wanted="two networks of one structure"
            )
        total = 0.0
        for node, joint in self.margins(most=most).items():
            present = joint > 0
            with np.errstate(divide="ignore"):
                ratio = np.log(self.tables[node][present]) - np.log(other.tables[node][present])
            total += float(joint[present] @ ratio)
        return max(total, 0.0)

    def _factor(self, node: str) -> Factor:
        return Factor(self.structure.families[node], self.tables[node])

    def _check_nodes(self, names: Sequence[str] | Mapping[str, object]) -> None:
        unknown = [name for name in names if name not in self.structure.states]
        if unknown:
            raise ParameterError("no such node", got=unknown[0], wanted="a node of the network")

    def _codes_of(self, evidence: Mapping[str, str]) -> dict[str, int]:
        self._check_nodes(evidence)
        for node, state in evidence.items():
            if state not in self.structure.states[node]:
                raise StateError(
                    f"{node!r} has no such state",
                    got=state,
                    wanted=", ".join(self.structure.states[node][:12]),
                )
        return {node: self.structure.states[node].index(state) for node, state in evidence.items()}

    def _ancestors(self, nodes: set[str]) -> list[str]:
        """The nodes and all above them: whatever lies below sums to one."""
        needed = set(nodes)
        for node in reversed(self.structure.order):
            if node in needed:
                needed.update(self.structure.parents[node])
        return [node for node in self.structure.nodes if node in needed]

    def _draw(
        self, node: str, drawn: Mapping[str, NDArray[np.signedinteger]], n: int, draws: Generator
    ) -> NDArray[np.signedinteger]:
        """States by comparing one uniform number with the ends of the row that the parents choose."""
        parents, card = self.structure.parents[node], self.structure.card(node)
        ends = np.cumsum(self.tables[node], axis=-1)
        ends /= ends[..., -1:]
        uniform = draws.random(n)
        chosen = np.zeros(n, dtype=code_type(card))
        index = tuple(drawn[parent] for parent in parents)
        for state in range(card - 1):
            chosen += uniform >= ends[(*index, state)]
        return chosen
