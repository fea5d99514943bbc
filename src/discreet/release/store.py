"""Maps and policies as JSON files: written whole or not at all, read only if they are what they should be."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["read_json", "write_json"]


def write_json(place: Path, plain: Mapping[str, Any]) -> None:
    """Write a file whole or not at all."""
    fresh = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        with fresh.open("w", encoding="utf-8") as file:
            json.dump(plain, file, allow_nan=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(place)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise BundleError(f"cannot write {place.name}: {error.strerror}") from None


def read_json(path: str | os.PathLike[str], kind: str, schema: int) -> dict[str, Any]:
    """Read a file of the given kind and schema."""
    place = Path(path).expanduser()
    try:
        plain = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise BundleError(f"the {kind} cannot be read", got=place.name) from None
    if not isinstance(plain, dict) or plain.get("kind") != kind or plain.get("schema") != schema:
        raise BundleError(f"this is not a {kind}", got=place.name, wanted=f"kind {kind}, schema {schema}")
    return plain
