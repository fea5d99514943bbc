"""The game of two worlds: what an epsilon means, in guesses won and lost."""

from __future__ import annotations

from discreet.audit.game import Outcome, play
from discreet.randomness import bits_of

__all__ = ["play_game"]


def play_game(
    epsilon: float,
    size: int,
    rounds: int,
    *,
    threshold: float | None = None,
    noise_scale: float = 1.0,
    random_state: int | None = None,
) -> Outcome:
    """Play it on invented rows.

    **Reveals** nothing, **costs** nothing: both data sets are the adversary's own.
    """
    return play(epsilon, size, rounds, threshold, noise_scale, bits=bits_of(random_state))
