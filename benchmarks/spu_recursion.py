"""The peer of `benchmarks.recursion`: run by a Python that has SPU, not by ours (SPU needs numpy < 2).

Prints one line of JSON: processor seconds of both parties, and the error against doubles. The profile that
SPU logs holds the bytes that party 0 sent and received.
"""

import json
import os
import sys
import time

os.environ["JAX_PLATFORMS"] = "cpu"

import jax.numpy as jnp
import numpy as np
import spu.libspu as libspu
from spu.utils import simulation


def main() -> None:
    """Forward recursion of ten fully connected models with five states, in the protocol CHEETAH."""
    scores, arcs = (np.load(path) for path in sys.argv[1:3])

    def forward(scores, arcs):
        state = scores[0]
        for step in scores[1:]:
            paths = state[:, :, None] + arcs
            top = jnp.max(paths, axis=1)
            state = jnp.log(jnp.sum(jnp.exp(paths - top[:, None, :]), axis=1)) + top + step
        return state

    config = libspu.RuntimeConfig(
        protocol=libspu.ProtocolKind.CHEETAH, field=libspu.FieldType.FM64, fxp_fraction_bits=18
    )
    config.enable_pphlo_profile = True
    ours = simulation.Simulator(2, config)
    run = type(ours).__call__
    spent = []

    def timed(self, *given):
        start = time.process_time()
        answer = run(self, *given)
        spent.append(time.process_time() - start)
        return answer

    simulation.Simulator.__call__ = timed
    found = simulation.sim_jax(ours, forward)(scores, arcs)
    error = float(np.abs(np.asarray(found) - np.asarray(forward(scores, arcs))).max())
    print("RESULT", json.dumps({"seconds": spent[0], "error": error}), flush=True)


main()
