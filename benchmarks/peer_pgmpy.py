"""pgmpy, timed, as JSON. Run by a Python that has pgmpy: `PYTHON benchmarks/peer_pgmpy.py FOLDER ROUNDS`.

The folder holds `network.bif`, and `codes.npz` with one array of codes a node; `peer.npz` is left there with
the tables that pgmpy fits, one axis a parent in the order of the network, the node's own last.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd  # pyright: ignore
from pgmpy.models import DiscreteBayesianNetwork  # pyright: ignore
from pgmpy.readwrite import BIFReader  # pyright: ignore


def main() -> None:
    """Reading the file, and maximum likelihood on a frame of categories and on one of text."""
    folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
    reading = []
    for _ in range(max(2, rounds // 2)):
        start = time.process_time()
        known = BIFReader(path=str(folder / "network.bif")).get_model()
        reading.append(time.process_time() - start)
    codes = np.load(folder / "codes.npz")
    tables = {cpd.variable: cpd for cpd in known.get_cpds()}
    states = {name: list(tables[name].state_names[name]) for name in tables}
    frame = pd.DataFrame({name: pd.Categorical.from_codes(codes[name], states[name]) for name in tables})
    counting = {}
    for kind, rows in {"categories": frame, "text": frame.astype(str)}.items():
        times = []
        for _ in range(rounds if kind == "categories" else 1):
            model = DiscreteBayesianNetwork(known.edges())
            model.add_nodes_from(known.nodes())
            start = time.process_time()
            model.fit(rows)
            times.append(time.process_time() - start)
        counting[kind] = min(times)
        if kind == "categories":
            np.savez(folder / "peer.npz", **{name: arranged(model, tables, states, name) for name in tables})
    print(json.dumps({"read": min(reading), **counting}))


def arranged(model, tables, states, name: str) -> np.ndarray:
    """The fitted table with axes and states in the order of the file."""
    fitted, parents = model.get_cpds(name), list(tables[name].variables[1:])
    values = np.asarray(fitted.values)
    values = values.transpose([fitted.variables.index(one) for one in [*parents, name]])
    for axis, one in enumerate([*parents, name]):
        seen = list(fitted.state_names[one])
        values = np.take(values, [seen.index(state) for state in states[one]], axis=axis)
    return values


if __name__ == "__main__":
    main()
