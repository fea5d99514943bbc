"""Vectors of transfers, garbling, log-sums and recursions, made by the slow implementation: run to renew."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import slow_circuits as slow

from discreet.crypto.circuit import Builder
from discreet.crypto.words import add, less
from discreet.randomness import seeded

VECTORS = Path(__file__).parents[1] / "vectors"
SESSION = b"vectors"


def eight_bits():
    """The circuit of the garbling vectors: sum and comparison of two words of eight bits."""
    build = Builder()
    a, b = build.input("a", 8), build.input("b", 8)
    build.output("sum", add(build, a, b))
    build.output("less", [less(build, a, b)])
    return build.circuit()


def transfer() -> dict:
    choices = [0, 1, 1, 0, 1]
    offered, points, pairs, chosen = slow.transfer(choices, SESSION, seeded(1), seeded(2))
    assert all(pair[choice] == key for pair, choice, key in zip(pairs, choices, chosen, strict=True))
    return {
        "choices": choices,
        "offered": offered.hex(),
        "points": points.hex(),
        "keys": [[key.hex() for key in pair] for pair in pairs],
    }


def extension() -> dict:
    seeds = [(hashlib.sha256(b"0%d" % i).digest(), hashlib.sha256(b"1%d" % i).digest()) for i in range(128)]
    choices = [j * j % 7 % 2 for j in range(150)]
    columns, fold, digest, rows, pads = slow.extend(seeds, choices, SESSION, seeded(3))
    return {
        "choices": choices,
        "columns": hashlib.sha256(b"".join(columns)).hexdigest(),
        "fold": fold.hex(),
        "digest": digest.hex(),
        "rows": [row.to_bytes(16, "little").hex() for row in rows[:8] + rows[-2:]],
        "pads": [pad.to_bytes(16, "little").hex() for pad in pads[:8] + pads[-2:]],
    }


def garble() -> dict:
    offset = hashlib.sha256(b"offset").digest()[:16]
    offset = bytes([offset[0] | 1]) + offset[1:]
    bits = {
        name: (np.arange(8 * 3).reshape(8, 3) * step % 5 % 2).tolist() for name, step in (("a", 3), ("b", 7))
    }
    outputs, tables = slow.garble(eight_bits(), int.from_bytes(offset, "little"), SESSION, bits)
    raw = b"".join(row.to_bytes(16, "little") for row in tables)
    return {
        "offset": offset.hex(),
        "bits": bits,
        "tables": hashlib.sha256(raw).hexdigest(),
        "first": raw[:64].hex(),
        "outputs": {
            name: [[label.to_bytes(16, "little").hex() for label in row] for row in rows]
            for name, rows in outputs.items()
        },
    }


def logsum() -> dict:
    steps = slow.log_sum_steps(8, 1 / 64)
    pairs = [(x, y) for x in (0, 1, 255, -700, 2**22) for y in (0, -1, 256, 1023, -(2**22), 2**22 - 300)]
    return {"steps": steps, "pairs": [(x, y, slow.log_sum(steps, x, y)) for x, y in pairs]}


def recursion() -> dict:
    """Two models of three states, left to right, seven steps: integers in units of 2**-8 nat."""
    arcs = [(i, j) for j in range(3) for i in (j - 1, j) if i >= 0]
    draw = seeded(4).integers(-2000, 0, 200).tolist()
    models = [
        {
            "start": [draw.pop() for _ in range(3)],
            "weights": [[draw.pop() for _ in range(3)] for _ in range(3)],
            "end": [draw.pop() for _ in range(3)],
            "scores": [[draw.pop() for _ in range(3)] for _ in range(7)],
        }
        for _ in range(2)
    ]
    steps = slow.log_sum_steps(8, 1 / 64)
    joins = {"logsum": lambda x, y: slow.log_sum(steps, x, y), "max": max}
    totals = {
        kind: [slow.recursion(join, arcs=arcs, **model) for model in models] for kind, join in joins.items()
    }
    return {"arcs": arcs, "models": models, "totals": totals}


MAKERS = {make.__name__: make for make in (transfer, extension, garble, logsum, recursion)}

if __name__ == "__main__":
    for make in MAKERS.values():
        text = json.dumps(make(), indent=1) + "\n"
        (VECTORS / f"{make.__name__}.json").write_text(text, encoding="utf-8")
