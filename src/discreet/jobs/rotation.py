"""A published rotation of private columns, run on invented people and read by those who should not."""

from __future__ import annotations

from discreet.audit.breach import Report, report
from discreet.randomness import bits_of

__all__ = ["break_rotation"]


def break_rotation(rows: int, *, random_state: int | None = None) -> Report:
    """Run it, and ours on the same people.

    **Reveals** nothing, **costs** nothing: the people are invented.
    """
    return report(rows, bits_of(random_state))
