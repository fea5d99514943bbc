"""Work space that a thread keeps: fresh pages of memory cost as much as the arithmetic done in them."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FRESH", "Room"]

_MOST = 2**22  # numbers kept for one name: 32 MiB


class Room(threading.local):
    """Arrays by name. What is taken holds until the same name is taken again in the same thread."""

    def __init__(self, *, keep: bool = True) -> None:
        self._keep = keep
        self._held: dict[str, NDArray[np.float64]] = {}

    def take(self, name: str, *shape: int) -> NDArray[np.float64]:
        """An array of this shape with anything in it; very large ones are not kept."""
        size = math.prod(shape)
        if not self._keep or size > _MOST:
            return np.empty(shape)
        held = self._held.get(name)
        if held is None or held.size < size:
            held = self._held[name] = np.empty(size)
        return held[:size].reshape(shape)


FRESH = Room(keep=False)
"""A room that gives a new array every time."""
