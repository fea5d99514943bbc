"""Peers that live in environments of their own: named by environment variables, run as processes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

__all__ = ["ask"]

_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def ask(variable: str, script: str, *arguments: object) -> dict[str, Any] | None:
    """What a peer's script prints, run by the Python that ``variable`` names; None if there is none."""
    python = os.environ.get(variable)
    if not python:
        return None
    command = [python, str(Path(__file__).parent / script), *map(str, arguments)]
    environment = dict(os.environ) | dict.fromkeys(_ONE_THREAD, "1")
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])
