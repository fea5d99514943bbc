"""One recursion over time, for many sequences at once, in any semiring.

Walking forwards, the states s_t (one column a sequence) follow from those before by

    p_t = M s_{t-1}        (p_0 is given)
    s_t = p_t * b_t

where the sum and the product are those of a semiring, M[j, i] belongs to the step from i to j, and b_t is the
evidence at time t. With ordinary numbers s_t is the forward probability (`Sum`); with the larger of two for
the sum, logarithms of the best path (`Max`); with or and and, whether a state can be reached at all
(`Reach`). `LogSum` is `Sum` in logarithms: slow, and exact however small the numbers get. Walking from the
end with M transposed gives the backward probabilities by the same steps.

A step is one product of matrices over all sequences that are still running: nothing here is done sequence by
sequence or symbol by symbol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.models.cut import find_cut
from discreet.models.room import FRESH, Room

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.models.cut import Cut
    from discreet.models.semiring import Semiring
    from discreet.models.sequences import Pack

__all__ = ["Walk", "trace_back", "walk"]


class Walk(NamedTuple):
    """p_t and s_t (..., N, F) in time order, and what columns were divided by on the way.

    ``scale`` (..., S) is the logarithm of all divisors together, ``least`` (..., S) the smallest of them, at
    most 1; both in the order of the blocks, longest sequence first. p_t has always the scale of s_{t-1}; s_t
    may have another than p_t.
    """

    predicted: NDArray[Any]
    states: NDArray[Any]
    scale: NDArray[np.float64]
    least: NDArray[np.float64]


def walk(
    semiring: Semiring,
    start: NDArray[Any],
    matrix: NDArray[Any],
    evidence: NDArray[Any],
    pack: Pack,
    room: Room = FRESH,
    *,
    cut: bool = True,
) -> Walk:
    """Walk all sequences of a pack from ``start`` (..., N, 1) or (..., N, S), with evidence (..., N, F).

    Evidence is in time order, start in the order of the blocks. Leading dimensions, the same for all, are
    walks of their own side by side (forwards and backwards). Floats are written into arrays of ``room``.
    """
    if evidence.dtype != np.float64:
        predicted, states = np.empty_like(evidence), np.empty_like(evidence)
    else:
        predicted, states = room.take("predicted", *evidence.shape), room.take("states", *evidence.shape)
    tail = find_cut(pack, evidence.shape[-2]) if cut and semiring.cut else None
    taken: list[NDArray[Any]] = []
    multiply, join, rescale = semiring.multiply, semiring.join, semiring.rescale
    steps = len(pack.widths) if tail is None else tail.step
    for step, (block, before) in enumerate(pack.blocks(steps)):
        here, now = predicted[block], states[block]
        if step == 0:
            here[...] = start
        else:
            multiply(matrix, states[before], here)
        join(here, evidence[block], now)
        if (top := rescale(step, now)) is not None:
            taken.append(top)
    divisors = np.ones((len(taken) + 1, *evidence.shape[:-2], pack.widths[0]))
    for row, top in zip(divisors, taken, strict=False):
        row[..., : top.shape[-1]] = top[..., 0, :]
    walked = Walk(predicted, states, np.log(divisors).sum(axis=0), divisors.min(axis=0))
    if tail is not None:
        before = (..., slice(pack.starts[steps - 1], pack.starts[steps - 1] + pack.widths[steps]))
        _walk_pieces(semiring, matrix, evidence, walked, tail, before)
    return walked


def trace_back(states: NDArray[Any], matrix: NDArray[Any], pack: Pack) -> NDArray[np.intp]:
    """The best path (F,) in time order, from the states (N, F) of a walk in `Max`; of equals, the first."""
    path = np.empty(states.shape[-1], dtype=np.intp)
    columns = np.ascontiguousarray(matrix.T)
    tail = find_cut(pack, len(states))
    steps, following, going = len(pack.widths), path[:0], 0
    if tail is not None:
        steps, going = tail.step, pack.widths[tail.step]
        path[tail.columns] = _trace_pieces(states[:, tail.columns], columns, tail)
        following = path[pack.starts[steps] : pack.starts[steps] + going]
    for step in range(steps - 1, -1, -1):
        at, width = pack.starts[step], pack.widths[step]
        choice = path[at : at + width]
        if going:
            joint = columns.take(following, axis=1)
            joint += states[:, at : at + going]
            joint.argmax(axis=0, out=choice[:going])
        if going < width:
            choice[going:] = states[:, at + going : at + width].argmax(axis=0)
        following, going = choice, width
    return path


def _walk_pieces(
    semiring: Semiring, matrix: NDArray[Any], evidence: NDArray[Any], whole: Walk, tail: Cut, before: Any
) -> None:
    """Fill in the rows after the cut; ``before`` says where the states before it stand."""
    pieces, width = tail.pieces, len(tail.heads)
    rows = evidence[..., tail.columns]
    arriving = np.empty((*rows.shape[:-1], len(tail.owners)), dtype=rows.dtype)
    arriving[..., tail.heads] = whole.states[before]
    taken, least = _scan(semiring, *_transfers(semiring, matrix, rows, tail), arriving, tail)
    start = np.empty_like(arriving)
    semiring.multiply(matrix, arriving, start)
    walked = walk(semiring, start[..., pieces.order], matrix, rows[..., pieces.forth], pieces, cut=False)
    whole.predicted[..., tail.columns] = walked.predicted[..., pieces.places]
    whole.states[..., tail.columns] = walked.states[..., pieces.places]
    later = pieces.firsts[tail.inner + 1]  # what is predicted there gets the scale of the states before
    again = np.empty((*rows.shape[:-1], len(later)), dtype=rows.dtype)
    semiring.multiply(matrix, whole.states[..., tail.columns[later - 1]], again)
    whole.predicted[..., tail.columns[later]] = again
    taken[..., pieces.order] += walked.scale
    least[..., pieces.order] = np.minimum(least[..., pieces.order], walked.least)
    whole.scale[..., :width] += taken[..., tail.ends]
    least = np.minimum.reduceat(least, tail.heads, axis=-1)
    np.minimum(whole.least[..., :width], least, out=whole.least[..., :width])


def _scan(
    semiring: Semiring, transfer: NDArray[Any], scale: NDArray[np.float64], arriving: NDArray[Any], tail: Cut
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fill in what arrives at each piece; the logarithm of all it was divided by, and the last divisor."""
    divisors = np.ones((*arriving.shape[:-2], arriving.shape[-1]))
    for turn in tail.turns:
        here = tail.inner[turn]
        arriving[..., here + 1], top = semiring.compose(transfer[..., turn], arriving[..., here])
        if top is not None:
            divisors[..., here + 1] = top[..., 0, :]
    logs = np.log(divisors)
    logs[..., tail.inner + 1] += scale
    before = np.cumsum(logs, axis=-1) - logs
    return logs + before - before[..., tail.heads[tail.owners]], np.minimum(divisors, 1.0)


def _transfers(
    semiring: Semiring, matrix: NDArray[Any], rows: NDArray[Any], tail: Cut
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """What each inner piece makes of each state, (..., N, N, P'); and the logarithm of its scale."""
    lead, states, count = rows.shape[:-2], rows.shape[-2], len(tail.inner)
    firsts = tail.pieces.firsts[tail.inner]
    length = int(tail.pieces.lengths[tail.inner].max(initial=0))
    current = np.full((*lead, states, states, count), semiring.zero, dtype=rows.dtype)
    for state in range(states):
        current[..., state, state, :] = semiring.one
    flat, other = current.reshape(*lead, states, -1), np.empty((*lead, states, states * count), rows.dtype)
    scale = np.zeros((*lead, states, count))
    for step in range(length):
        semiring.multiply(matrix, flat, other)
        spread = other.reshape(*lead, states, states, count)
        semiring.join(spread, rows[..., None, firsts + step], spread)
        if (top := semiring.rescale(-1 if step == length - 1 else step, other)) is not None:
            scale += np.log(top).reshape(scale.shape)
        flat, other = other, flat
    top = scale.max(axis=-2)
    transfer = flat.reshape(*lead, states, states, count)
    return (
        transfer if not scale.any() else transfer * np.exp(scale - top[..., None, :])[..., None, :, :]
    ), top


def _trace_pieces(states: NDArray[Any], columns: NDArray[Any], tail: Cut) -> NDArray[np.intp]:
    """The best path after the cut, (F',): all pieces for all states that may follow, then a scan."""
    pieces, count = tail.pieces, len(columns)
    ordered = states[:, pieces.forth]
    table = np.empty((count, pieces.frames), dtype=np.intp)
    ending = np.isin(pieces.order, tail.ends)
    following, going = table[:, :0], 0
    for step in range(len(pieces.widths) - 1, -1, -1):
        at, width = pieces.starts[step], pieces.widths[step]
        here = ordered[:, at : at + width]
        followed = np.empty((count, width), dtype=np.intp)
        followed[:, :going], followed[:, going:] = following, np.arange(count)[:, None]
        choice = (columns[:, followed] + here[:, None]).argmax(axis=0)
        final = ending[:width] & (np.arange(width) >= going)
        choice[:, final] = here[:, final].argmax(axis=0)
        table[:, at : at + width] = choice
        following, going = choice, width
    table = table[:, pieces.places]
    chosen = np.zeros(len(tail.owners), dtype=np.intp)
    for turn in reversed(tail.turns):
        here = tail.inner[turn]
        chosen[here] = table[chosen[here + 1], pieces.firsts[here + 1]]
    return table[np.repeat(chosen, pieces.lengths), np.arange(pieces.frames)]
