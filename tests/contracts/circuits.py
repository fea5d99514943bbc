"""Transfers, garbled circuits and what stands on them, small, for the contracts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.protocols import order, permute, pick, trellis

__all__ = ["CIRCUITS"]


def shares(values, width):
    """Two additive shares; the first from a fixed stream."""
    mask = np.uint64(2**width - 1)
    first = np.random.default_rng(5).integers(0, 2**63, values.shape).astype(np.uint64) & mask
    return first, (values.astype(np.int64).view(np.uint64) - first) & mask


PICK = pick.Pick("argmax", 4, 16)
LABELS = np.array([[11], [12], [13], [14]], dtype=np.uint64)
SCORES = [np.array([row]) for row in ([3, 9, -4, 1], [-7, 9, 0, 1], [-(2**15), 5, 2**15 - 1, 6])]

ORDER = order.Order("maximum", 4, 16, opened="both")

TRELLIS = trellis.Trellis("logsum", 4, 2, trellis.left_right(3), low=-9, high=0, opened="evaluator")
PATH = replace(TRELLIS, kind="max", opened="both")
# in the second case a nat moves from the scores of the first step to the starts: the same totals and paths
WEIGHTS = [
    trellis.Weights(np.full((2, 3), start), np.full((2, 3, 3), weight), np.zeros((2, 3)))
    for start, weight in ((0.0, -0.7), (1.0, -0.7), (0.0, -3.0))
]
TRACES = [np.arange(24).reshape(4, 2, 3) * -60 - 300 for _ in range(3)]
TRACES[1][0] -= 256

SHUFFLE = permute.Shuffle(5, 2)
LISTS = [np.arange(10).reshape(5, 2), np.full((5, 2), -1)]


def pick_inputs():
    return tuple(dict(zip(("model", "data"), shares(scores, 16), strict=True)) for scores in SCORES)


def trellis_inputs():
    for weights, traces in zip(WEIGHTS, TRACES, strict=True):
        first, second = shares(traces, 24)
        yield {"model": (weights, first), "data": second}


def joined(parts, width):
    return sum(parts) & np.uint64(2**width - 1)


def best(private):
    return joined(private.values(), 16)[0].astype(np.uint16).view(np.int16)


def shuffled(private, out):
    before, after = joined(private.values(), 64), joined(out.values(), 64)
    return sorted(map(tuple, before.tolist())) == sorted(map(tuple, after.tolist()))


def traces(private):
    values = joined((private["model"][1], private["data"]), 24)
    return (values << np.uint64(40)).view(np.int64) >> np.int64(40)


def recursed(private, out):
    wanted = trellis.plain(TRELLIS, private["model"][0], traces(private))
    return out["model"] is None and np.array_equal(out["data"], wanted)


def best_path(private):
    return trellis.plain_path(PATH, private["model"][0], traces(private))


CIRCUITS = {
    "pick": (
        {"model": "nothing", "data": "which"},
        {
            "model": lambda share, agreed, bits: pick.hold_model(PICK, share, bits),
            "data": lambda share, agreed, bits: pick.hold_scores(PICK, share, bits),
        },
        pick_inputs(),
        lambda private, out: out["model"] is None and out["data"][0, 0] == best(private).argmax(),
    ),
    "label": (
        {"model": "nothing", "data": "a label"},
        {
            "model": lambda share, agreed, bits: pick.tell_label(PICK, share, LABELS, bits),
            "data": lambda share, agreed, bits: pick.learn_label(PICK, share, 1, bits),
        },
        pick_inputs(),
        lambda private, out: out["data"][0, 0] == LABELS[best(private).argmax(), 0],
    ),
    "order": (
        {"model": "the largest", "data": "the largest"},
        {
            "model": lambda share, agreed, bits: order.hold_first(ORDER, share, bits),
            "data": lambda share, agreed, bits: order.hold_second(ORDER, share, bits),
        },
        pick_inputs(),
        lambda private, out: all(
            int(out[name][0, 0]) == int(best(private).max()) % 2**16 for name in ("model", "data")
        ),
    ),
    "trellis": (
        {"model": "nothing", "data": "totals"},
        {
            "model": lambda held, agreed, bits: trellis.hold_model(TRELLIS, *held, bits),
            "data": lambda share, agreed, bits: trellis.hold_data(TRELLIS, share, bits),
        },
        tuple(trellis_inputs()),
        recursed,
    ),
    "path": (
        {"model": "the best path", "data": "the best path"},
        {
            "model": lambda held, agreed, bits: trellis.trace_model(PATH, *held, bits),
            "data": lambda share, agreed, bits: trellis.trace_data(PATH, share, bits),
        },
        tuple(trellis_inputs()),
        lambda private, out: all(np.array_equal(out[name], best_path(private)) for name in out),
    ),
    "permute": (
        {"model": "a share", "data": "a share"},
        {
            "model": lambda share, agreed, bits: permute.hold_first(SHUFFLE, share, bits),
            "data": lambda share, agreed, bits: permute.hold_second(SHUFFLE, share, bits),
        },
        tuple(dict(zip(("model", "data"), shares(part, 64), strict=True)) for part in LISTS),
        shuffled,
    ),
}
"""What everybody learns, roles, private inputs, and whether outputs are right."""
