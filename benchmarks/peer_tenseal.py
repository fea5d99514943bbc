"""TenSEAL packed by hand, timed, as JSON. Run by a Python that has it: `PYTHON benchmarks/peer_tenseal.py`.

98 frames x 820 features encrypted, times 820 x 50 weights: 41 features x 98 frames lie in the 4096 slots of
a CKKS ciphertext, weights are repeated over frames, and the client adds 41 slots of each answer itself.
That is the quickest that TenSEAL's interface allows, and it shows the client partial sums: no mask, no
circuit privacy.
"""

from __future__ import annotations

import json
import time

import numpy as np
import tenseal  # pyright: ignore

FRAMES, FEATURES, OUTPUTS, TOGETHER = 98, 820, 50, 41


def main() -> None:
    """The best processor time of two runs, and the largest error."""
    random = np.random.default_rng(0)
    x = random.integers(-(2**15), 2**15, (FRAMES, FEATURES)) / 2.0**15
    w = random.integers(-(2**15), 2**15, (FEATURES, OUTPUTS)) / 2.0**15
    context = tenseal.context(
        tenseal.SCHEME_TYPE.CKKS, poly_modulus_degree=8192, coeff_mod_bit_sizes=[60, 40, 60], n_threads=1
    )
    context.global_scale = 2.0**40
    best, error = float("inf"), 0.0
    for _ in range(2):
        start = time.process_time()
        result = job(context, x, w)
        best = min(best, time.process_time() - start)
        error = float(np.abs(result - x @ w).max())
    print(json.dumps({"seconds": best, "error": error}))


def job(context, x, w):
    """Encrypt, compute, decrypt and add."""
    groups = range(0, FEATURES, TOGETHER)
    ciphers = [tenseal.ckks_vector(context, x[:, g : g + TOGETHER].ravel().tolist()) for g in groups]
    result = np.empty((FRAMES, OUTPUTS))
    for output in range(OUTPUTS):
        total = None
        for cipher, g in zip(ciphers, groups, strict=True):
            part = cipher * np.tile(w[g : g + TOGETHER, output], FRAMES).tolist()
            total = part if total is None else total + part
        slots = np.array(total.decrypt())
        result[:, output] = slots.reshape(FRAMES, TOGETHER).sum(axis=1)
    return result


if __name__ == "__main__":
    main()
