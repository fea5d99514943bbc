"""How long it takes until something answers: imports and the command line, each in a fresh process."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from benchmarks.clock import race
from benchmarks.table import Finding

__all__ = ["run"]


def run(full: bool) -> list[Finding]:
    """Import and help against importing scikit-learn's mixture."""
    asked = {
        "import discreet": ["-c", "import discreet"],
        "import discreet.fit": ["-c", "import discreet.fit"],
        "discreet --help": ["-m", "discreet", "--help"],
        "peer": ["-c", "import sklearn.mixture"],
    }
    if find_spec("discreet.__main__") is None:
        del asked["discreet --help"]
    contenders = {name: lambda arguments=arguments: _run(arguments) for name, arguments in asked.items()}
    times = race(contenders, 9 if full else 4, wall=True)
    targets = {"import discreet": 4.0, "discreet --help": 2.0}
    return [
        Finding(
            f"{name}: import sklearn.mixture",
            f"{times[name] * 1e3:.0f} ms",
            f"{times['peer'] * 1e3:.0f} ms",
            times["peer"] / times[name],
            targets.get(name),
        )
        for name in asked
        if name != "peer"
    ]


def _run(arguments: list[str]) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
