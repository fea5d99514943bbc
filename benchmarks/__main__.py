"""Run the benchmarks, each in a process of its own: `python -m benchmarks [NAME ...] [--full]`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from benchmarks.table import Finding, machine, show, write

NAMES = (
    "rounds",
    "streaming",
    "threads",
    "noise",
    "ledger",
    "start",
    "cepstra",
    "hmm",
    "network",
    "wire",
    "service",
    "paillier",
    "lattice",
    "transfer",
    "families",
    "garble",
    "recursion",
    "release",
    "join",
    "spoken_word",
)
_OUT = Path("out/benchmarks.json")
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> int:
    """Run those named (default: all), print one table, write JSON; 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--full", action="store_true", help="the sizes that are claimed")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(NAMES):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    if asked.into is not None:
        found = import_module(f"benchmarks.{asked.names[0]}").run(asked.full)
        asked.into.write_text(json.dumps([asdict(line) for line in found]), encoding="utf-8")
        return 0
    print(machine(), flush=True)
    findings = {name: _run(name, asked.full) for name in asked.names or NAMES}
    lines = [line for found in findings.values() for line in found]
    show(lines)
    write(_OUT, asked.full, findings)
    return int(any(line.verdict == "FAIL" for line in lines))


def _run(name: str, full: bool) -> list[Finding]:
    """Run one benchmark with one thread for each product of matrices, unless threads are what it is about."""
    print(f"{name} ...", file=sys.stderr, flush=True)
    environment = dict(os.environ) | ({} if name == "threads" else dict.fromkeys(_ONE_THREAD, "1"))
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder) / "found.json"
        command = [sys.executable, "-m", "benchmarks", name, "--into", str(into), *["--full"] * full]
        subprocess.run(command, check=True, env=environment)
        return [Finding(**line) for line in json.loads(into.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    sys.exit(main())
