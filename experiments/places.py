"""Where experiments read real data and leave their tables and figures."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
OUT = ROOT / "out" / "experiments"


def data_folder() -> Path | None:
    """DISCREET_DATA, or ../shared/data beside the repository; None where neither exists."""
    folder = Path(os.environ.get("DISCREET_DATA", ROOT.parent / "shared" / "data"))
    return folder if folder.is_dir() else None


def read_lifesci(folder: Path) -> np.ndarray:
    """Life Sciences ds1.10: 26,733 rows of 10 numbers."""
    with gzip.open(folder / "tabular" / "lifesci_ds1_10.csv.gz", "rt") as file:
        return np.loadtxt(file, delimiter=",", skiprows=1)[:, :10]


def write_table(name: str, rows: list[dict[str, Any]], note: str) -> str:
    """Write NAME.json and NAME.md, and return the Markdown."""
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{name}.json").write_text(json.dumps({"note": note, "rows": rows}, indent=1) + "\n")
    heads = list(rows[0])
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    lines += [f"| {' | '.join(_shown(row[head]) for head in heads)} |" for row in rows]
    text = f"{note}\n\n" + "\n".join(lines) + "\n"
    (OUT / f"{name}.md").write_text(text)
    return text


def _shown(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "" if value is None else str(value)
