"""Does a fitted network reveal no more than it says? Fit invented rows many times and find out.

Two worlds differ in one row (or in all rows of one person). The fit runs many times in each; everything it
releases follows from the noisy tables, whose likelihood ratio is known exactly:
    log P[tables | world 1] - log P[tables | world 0] = sum of (c1 - c0) (y - (c0 + c1) / 2) / sigma^2,
for the discrete Gaussian as for the continuous one. No attack on the network can do better.

Bugs that can be planted, to see whether the audit catches them:

    one table          noise for one table, drawn in each of many: short by sqrt(families)
    rows for persons   all rows of a person are counted, and the bound is that of one row
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.audit.distinguish import gaussian_ratio
from discreet.audit.finding import FitFinding, conclude
from discreet.audit.transcript import Score, pay
from discreet.errors import ParameterError
from discreet.fit.network.request import Request, check, plan
from discreet.fit.network.run import count
from discreet.mechanisms.tables import TableLaw, law, release_tables
from discreet.models.network import Network
from discreet.models.structure import Structure
from discreet.randomness import secure, seeded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from discreet.randomness import Bits

__all__ = ["NETWORK_BUGS", "audit_network", "invent_network"]

NETWORK_BUGS = ("one table", "rows for persons")
"""What `audit_network` can plant."""

_MANY = 4  # rows of the person who is the canary


def audit_network(
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    unit: str = "row",
    nodes: int = 9,
    rows: int = 200,
    bug: str | None = None,
    runs: int = 1000,
    confidence: float = 0.95,
    random_state: int | None = 0,
    progress: Callable[[int, int], None] | None = None,
) -> FitFinding:
    """Audit the fit of a network to invented rows, with ``runs`` runs in each of two worlds.

    ``unit`` is "row" or "person"; ``bug`` is None or one of `NETWORK_BUGS`. ``random_state=None`` audits
    noise as it is really drawn, by OpenDP; an integer replays.

    **Reveals** nothing: the rows are invented. **Trusts** nothing.
    """
    if unit not in ("row", "person"):
        raise ParameterError("no such unit", got=unit, wanted="row or person")
    if bug is not None and bug not in NETWORK_BUGS:
        raise ParameterError("there is no such bug", got=bug, wanted=" or ".join(NETWORK_BUGS))
    if runs < 6:
        raise ParameterError("too few runs to prove anything", got=runs, wanted="at least 6, better 1000")
    person = unit == "person" or bug == "rows for persons"
    wanted, worlds = _worlds(invent_network(nodes), epsilon, delta, rows, person=person)
    planned = plan(wanted, by_person=person)
    assert planned.law is not None
    counts = tuple(_counted(wanted, world, bug) for world in worlds)
    drawn = _drawn(planned.law, bug)
    scores: tuple[list[Score], list[Score]] = ([], [])
    for index in range(runs):
        for world in (0, 1):
            bits = secure() if random_state is None else seeded(random_state * 10_000_019 + 2 * index + world)
            scores[world].append(_play(counts, world, drawn, bits))
        if progress is not None:
            progress(index + 1, runs)
    subject = f"fit network, {planned.law.families} families, {rows} rows, one {unit} added or removed"
    return conclude("gaussian", scores, planned.guarantee, confidence, subject=subject, bug=bug)


def invent_network(nodes: int) -> Network:
    """A network of binary nodes, each with the two before it as parents; all but two families count."""
    names = [f"n{index}" for index in range(nodes)]
    structure = Structure(
        dict.fromkeys(names, ("no", "yes")),
        {name: tuple(names[max(0, index - 2) : index]) for index, name in enumerate(names)},
    )
    tables: dict[str, NDArray[np.float64]] = {}
    for place, name in enumerate(names):
        shape = structure.shape(name)
        chance = 0.2 + 0.6 * ((np.arange(np.prod(shape[:-1], dtype=int)) + place) % 3) / 2
        tables[name] = np.stack([1 - chance, chance], axis=-1).reshape(shape)
    return Network(structure, tables)


def _worlds(
    network: Network, epsilon: float, delta: float, rows: int, *, person: bool
) -> tuple[Request, tuple[dict[str, Any], dict[str, Any]]]:
    """Rows drawn from the network, without and with one more person."""
    wanted = check(
        Request(
            structure=network.structure,
            epsilon=epsilon,
            delta=delta,
            prior=1.0,
            person="person" if person else None,
            rows_per_person=1,
            missing="refuse",
            ledger=None,
            dataset=None,
            bits=seeded(0),
        )
    )
    codes = network.sample(rows, seeded(1))
    more = _MANY if person else 1
    without = {name: np.array(network.structure.states[name])[code] for name, code in codes.items()}
    joined = {name: np.concatenate([column, np.repeat("yes", more)]) for name, column in without.items()}
    if person:
        ids = np.arange(rows) // 2
        without, joined = without | {"person": ids}, joined | {"person": np.append(ids, [rows] * more)}
    return wanted, (without, joined)


def _counted(wanted: Request, rows: dict[str, Any], bug: str | None) -> dict[str, NDArray[np.int64]]:
    if bug == "rows for persons":
        wanted = replace(wanted, person=None)
    return count(wanted, rows)


def _drawn(honest: TableLaw, bug: str | None) -> TableLaw:
    """The law that noise is really drawn with."""
    if bug != "one table":
        return honest
    single = law(1, honest.epsilon, honest.delta, rows_per_person=honest.rows_per_person)
    return replace(honest, sigma=single.sigma)


def _play(
    counts: tuple[Mapping[str, NDArray[np.int64]], ...], world: int, drawn: TableLaw, bits: Bits
) -> Score:
    noisy = release_tables(counts[world], drawn, pay(bits).account, bits)
    told, without, joined = (_flat(tables) for tables in (noisy, counts[0], counts[1]))
    change = float(np.sum((joined - without) ** 2))
    return Score(gaussian_ratio(told, without, joined, drawn.sigma), change / drawn.sigma**2)


def _flat(tables: Mapping[str, NDArray[np.int64]]) -> NDArray[np.float64]:
    return np.concatenate([table.ravel() for table in tables.values()]).astype(np.float64)
