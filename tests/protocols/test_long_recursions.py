"""Memory of a recursion does not grow with its steps."""

import tracemalloc

import numpy as np

from discreet.protocols.step import run_pair
from discreet.protocols.trellis import Trellis, Weights, all_arcs, hold_data, hold_model
from discreet.randomness import secure


def test_memory_does_not_grow_with_the_steps():
    peaks, sizes = [], []
    for steps in (16, 64):
        plan = Trellis("max", steps, 100, all_arcs(3), opened="evaluator")
        weights = Weights(np.zeros((100, 3)), np.zeros((100, 3, 3)), np.zeros((100, 3)))
        zeros = np.zeros((steps, 100, 3), dtype=np.uint64)
        tracemalloc.start()
        run_pair(hold_model(plan, weights, zeros, secure()), hold_data(plan, zeros, secure()), record=False)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        sizes.append(steps * plan.circuit.ands * plan.models * 32)
    assert sizes[1] - sizes[0] > 60e6  # what went over the wire more
    assert peaks[1] - peaks[0] < 8e6  # what was held more: the inputs, and bounds of the refusal
