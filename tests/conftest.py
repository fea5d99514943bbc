"""What tests share: where the real data are, and how long the statistical tests may take."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

LONG = os.environ.get("DISCREET_LONG") == "1"


@pytest.fixture
def real_data() -> Path:
    """The folder with real data; the test is skipped, saying so, where it is absent."""
    folder = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}: set DISCREET_DATA")
    return folder
