"""Learn a map from traces: counts of moves, as they are or with noise.

**Public traces** are counted as they are; states are the visited cells.

**Private traces.** One person's moves weigh min(1, moves_per_person / how many they made), so together at
most ``moves_per_person``. The counts are one integer for each cell of the box and each of the (2 reach + 1)^2
cells around it; each weight is rounded down to a multiple of 2**-20 first, so one person changes the counts
by at most moves_per_person * 2**20 units in l1 and in l2 norm (all moves may be the same one). Noise is added
once, by `discreet.mechanisms.noise.release`: Gaussian if delta is given, Laplace otherwise.

What follows is computed from noisy counts alone: one deviation of the noise is taken off every count and
nothing is left below 0; the rows are normalised; and a share of each row is spread over the cell and those
around it, so that every neighbouring cell can be reached. A cell whose counts vanish leads to its neighbours
alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.account import Account
from discreet.accounting.accountant import calibrate
from discreet.accounting.event import Event, check_number
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.ledger import Ledger
from discreet.errors import DataError, ParameterError
from discreet.mechanisms.noise import plan_noise, release
from discreet.randomness import bits_of
from discreet.records.person import check_rows_per_person
from discreet.release.map import Map
from discreet.release.traces import read_traces
from discreet.statistic import Statistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.randomness import RandomState
    from discreet.release.grid import Grid
    from discreet.release.traces import Traces

__all__ = ["Request", "count_moves", "learn_map", "plan"]

_UNIT = 2**20
_SPREAD = 0.02
_MOST_COUNTS = 4_000_000


@dataclass(frozen=True)
class Request:
    """What `Map.learn` was asked for."""

    grid: Grid
    public: bool
    epsilon: float | None
    delta: float | None
    step: float | None
    columns: tuple[str, str, str, str]
    moves_per_person: float
    reach: int | None

    @property
    def farthest(self) -> int:
        """How many cells along an axis a private move may go."""
        return 2 if self.reach is None else self.reach


def learn_map(
    source: Any,
    request: Request,
    ledger: Ledger | str | Path | None,
    dataset: str | None,
    random_state: RandomState,
) -> Map:
    """Check the request, read the traces, charge the ledger, count, add noise, and make the map."""
    _check(request, ledger)
    bits = bits_of(random_state)
    guarantee = None if request.public else plan(request, bits.seeded)
    traces = read_traces(source, request.columns)
    if guarantee is None:
        return _public_map(traces, request)
    statistic = count_moves(traces, request)
    event = guarantee.events[0]
    deviation = plan_noise(statistic, event)
    book = Ledger.open(ledger) if isinstance(ledger, str | Path) else ledger
    account = Account(guarantee, book, dataset, "release learn")
    noisy = release(statistic, event, account, bits)
    spread = deviation.scale * deviation.grid * (1.0 if event.mechanism == "gaussian" else math.sqrt(2))
    world = _private_map(noisy, spread, request, guarantee)
    account.close(world.digest)
    return world


def plan(request: Request, seeded: bool = False) -> Guarantee:
    """What a private map would promise; nothing is read, drawn or spent."""
    epsilon, delta = check_number("epsilon", request.epsilon), float(request.delta or 0.0)
    mechanism = "gaussian" if delta else "laplace"
    shape = Event(mechanism, 1.0, 1, "counts of moves between cells")
    box = ", ".join(f"{side:g}" for side in request.grid.box)
    return Guarantee(
        epsilon=epsilon,
        delta=delta,
        unit="person",
        events=(shape.scaled(calibrate([shape], epsilon, delta)),),
        trusts="whoever learns the map, who sees the traces; nobody who only sees the map",
        reveals=("the transitions and the start of the map, computed from noisy counts alone",),
        declared=(
            f"the box ({box}) and the cells of {request.grid.cell:g} m",
            f"that moves go at most {request.farthest} cells along an axis",
            f"the weight of one person's moves, at most {request.moves_per_person:g}",
        ),
        seeded=seeded,
        person=request.columns[0],
        rows_per_person=request.moves_per_person,
    )


def count_moves(traces: Traces, request: Request) -> Statistic:
    """The weighted counts of moves from each cell by each offset, as integers with a bound for one person."""
    grid, reach = request.grid, request.farthest
    wide = 2 * reach + 1
    cells = grid.places(traces.lat, traces.lon)
    first, across, up = _offsets(cells, grid)
    kept = traces.moves(request.step) & (first >= 0) & (cells[1:] >= 0)
    kept &= (np.abs(across) <= reach) & (np.abs(up) <= reach)
    owner = traces.user[:-1][kept]
    made = np.bincount(owner, minlength=1)
    weight = np.floor(np.minimum(1.0, request.moves_per_person / np.maximum(made, 1)) * _UNIT)
    units = _within(weight.astype(np.int64), made, request.moves_per_person)
    place = first[kept] * wide**2 + (up[kept] + reach) * wide + across[kept] + reach
    total = np.zeros(grid.size * wide**2, dtype=np.int64)
    np.add.at(total, place, units[owner])
    bound = request.moves_per_person * _UNIT
    return Statistic(total.astype(object), 1 / _UNIT, bound, bound, "weighted counts of moves between cells")


def _offsets(
    cells: NDArray[np.int64], grid: Grid
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Where each move begins, and how many cells it goes east and north."""
    first, second = cells[:-1], cells[1:]
    return (
        first,
        second % grid.columns - first % grid.columns,
        second // grid.columns - first // grid.columns,
    )


def _within(units: NDArray[np.int64], made: NDArray[np.int64], bound: float) -> NDArray[np.int64]:
    """Take a unit off where rounding of the division would let a person pass the bound."""
    over = units * made > math.floor(bound * _UNIT)
    return units - over


def _check(request: Request, ledger: object) -> None:
    if request.public == (request.epsilon is not None):
        raise ParameterError(
            "traces are public, or cost a budget",
            got="both" if request.public else "neither",
            wanted="either public=True, or epsilon= (and delta=)",
            remedy="A map learned from people's traces without noise reveals them.",
        )
    if request.public and (request.delta is not None or ledger is not None):
        raise ParameterError("public traces cost nothing", wanted="neither delta nor a ledger")
    check_rows_per_person(request.moves_per_person)
    if request.step is not None and not 0 < check_number("step", request.step) < math.inf:
        raise ParameterError("step is not a time", got=request.step, wanted="seconds above 0")
    wide = 2 * request.farthest + 1
    if not (request.farthest >= 1 and request.grid.size * wide**2 <= _MOST_COUNTS) and not request.public:
        raise ParameterError(
            "the cells and the reach make too many counts",
            got=f"{request.grid.size} cells, reach {request.farthest}",
            wanted=f"a reach of 1 or more, and at most {_MOST_COUNTS:,} counts",
        )


def _public_map(traces: Traces, request: Request) -> Map:
    from scipy.sparse import coo_matrix

    grid = request.grid
    cells = grid.places(traces.lat, traces.lon)
    inside = cells >= 0
    if not inside.any():
        raise DataError("no trace enters the box", wanted="places within the box")
    visited, state = np.unique(cells[inside], return_inverse=True)
    number = np.full(len(cells), -1)
    number[inside] = state.reshape(-1)
    kept = traces.moves(request.step) & inside[:-1] & inside[1:]
    if request.reach is not None:
        _, across, up = _offsets(cells, grid)
        kept &= (np.abs(across) <= request.reach) & (np.abs(up) <= request.reach)
    moves = (np.ones(int(kept.sum())), (number[:-1][kept], number[1:][kept]))
    counts = coo_matrix(moves, shape=(len(visited), len(visited))).tocsr()
    start = np.bincount(number[inside], minlength=len(visited)).astype(np.float64)
    chain = _rows_to_one(counts)
    return Map(grid.centers()[visited], chain, start=start / start.sum(), grid=grid, visited=visited)


def _rows_to_one(counts: Any) -> Any:
    from scipy.sparse import diags_array

    totals = np.asarray(counts.sum(axis=1)).reshape(-1)
    return diags_array(1 / np.where(totals > 0, totals, 1.0)) @ counts


def _private_map(noisy: NDArray[np.float64], deviation: float, request: Request, guarantee: Guarantee) -> Map:
    from scipy.sparse import coo_matrix

    grid, reach = request.grid, request.farthest
    wide = 2 * reach + 1
    counts = np.maximum(noisy.reshape(grid.size, wide, wide) - deviation, 0.0)
    cell = np.arange(grid.size)
    up, across = np.meshgrid(np.arange(-reach, reach + 1), np.arange(-reach, reach + 1), indexing="ij")
    row = cell[:, None, None] // grid.columns + up
    column = cell[:, None, None] % grid.columns + across
    inside = (row >= 0) & (row < grid.rows) & (column >= 0) & (column < grid.columns)
    counts *= inside
    near = inside & (np.abs(up) <= 1) & (np.abs(across) <= 1)
    even = near / near.sum(axis=(1, 2), keepdims=True)
    totals = counts.sum(axis=(1, 2), keepdims=True)
    share = np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), even)
    share = (1 - _SPREAD) * share + _SPREAD * even
    kept = share > 0
    origin = np.broadcast_to(cell[:, None, None], share.shape)[kept]
    chain = coo_matrix((share[kept], (origin, (row * grid.columns + column)[kept])), shape=(grid.size,) * 2)
    start = totals.reshape(-1) + _SPREAD * max(float(totals.mean()), 1e-9)
    return Map(
        grid.centers(), _rows_to_one(chain.tocsr()), start=start / start.sum(), grid=grid, guarantee=guarantee
    )
