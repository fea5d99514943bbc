"""What a benchmark found, and how it is shown."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["Finding", "machine", "show", "write"]

_HEAD = ("what", "ours", "peer", "ratio", "target", "")


@dataclass(frozen=True)
class Finding:
    """One comparison: ``ratio`` above 1 means that ours is better; no target means it is only told."""

    what: str
    ours: str
    peer: str
    ratio: float
    target: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the target was met."""
        if self.target is None:
            return ""
        return "pass" if self.ratio >= self.target else "FAIL"

    @property
    def cells(self) -> tuple[str, ...]:
        """The finding as a row of the table."""
        target = "" if self.target is None else f"{self.target:g}"
        ratio = f"{self.ratio:.2f}" if self.ratio >= 0.1 else f"{self.ratio:.4f}"
        return (self.what, self.ours, self.peer, ratio, target, self.verdict)


def machine() -> str:
    """The machine and the versions that the figures belong to."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "pyarrow"))
    return f"{os.cpu_count()} x {_processor()}, Python {platform.python_version()}, {packages}"


def show(findings: list[Finding]) -> None:
    """Print the findings as a table."""
    rows = [_HEAD, *(finding.cells for finding in findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row[:3], widths[:3], strict=True)]
        cells += [cell.rjust(width) for cell, width in zip(row[3:], widths[3:], strict=True)]
        print("  ".join(cells).rstrip())


def write(path: Path, full: bool, findings: dict[str, list[Finding]]) -> None:
    """Write findings as JSON; those of benchmarks that did not run this time stay."""
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name, lines in findings.items():
        kept[name] = {
            "machine": machine(),
            "full": full,
            "findings": [{**asdict(line), "verdict": line.verdict} for line in lines],
        }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()
