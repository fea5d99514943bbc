"""Run experiments: `python -m experiments [NAME ...] [--quick]`."""

from __future__ import annotations

import argparse
import importlib
import time
from pathlib import Path

from experiments.places import OUT, data_folder

REAL = (
    "lifesci",
    "gowalla",
    "digits",
    "private_digits",
    "visits",
    "release",
    "network",
    "spoken",
    "keyword",
    "copied",
)
INVENTED = ("dice", "dice_utility", "dice_violation", "worlds", "asia", "melodies", "keyword_growth")
NAMES = REAL + INVENTED


def main() -> None:
    """Run the named experiments, or all; say so where the data are absent."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer folds, budgets and methods")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.names if name not in NAMES]
    if unknown:
        parser.error(f"no experiment named {', '.join(unknown)}; there are {', '.join(NAMES)}")
    folder = data_folder()
    for name in chosen.names or NAMES:
        if folder is None and name in REAL:
            print(f"{name}: skipped, no real data here. Set DISCREET_DATA to their folder.\n")
            continue
        start = time.perf_counter()
        print(importlib.import_module(f"experiments.{name}").run(folder or Path(), chosen.quick))
        print(f"{name}: {time.perf_counter() - start:.0f} s; table and figure in {OUT.name}/{name}.*\n")


if __name__ == "__main__":
    main()
