"""A vocabulary as its owner brings it to a question: linear forms, chains, and the card that goes out.

Every component of every state becomes one linear form of quadratic features,

    log N(u; m, C) + log weight = constant + (P m) . u - 1/2 sum_i P_ii u_i^2 - sum_(i<j) P_ij u_i u_j,

with P the inverse of C; under diagonal covariances the last sum is empty, and so are its features.

**Reveals** through the offer: sizes, whether chains go from left to right, and `Ranges`, powers of two that
bound weights and scores.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.ask.offer import Method, Offer, Topology
from discreet.ask.precision import Ranges
from discreet.errors import ParameterError
from discreet.models.blend import Blend
from discreet.models.categorical import Categorical
from discreet.models.gaussian import unpack_covariances
from discreet.randomness import secure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.models.gaussian import Gaussian
    from discreet.models.vocabulary import Vocabulary
    from discreet.randomness import Bits

__all__ = ["Model"]

_SALT = 32


@dataclass(frozen=True, eq=False)
class Model:
    """The private side of an offer.

    ``weights`` are (terms, words x states x mixtures) and ``constants`` (words x states x mixtures), in nats;
    for symbols ``weights`` are the logarithms (symbols, words x states) and constants are zeros. Chains are
    logarithms: ``start`` (words, states) and ``transitions`` (words, states, states), -inf for what cannot
    be.
    """

    offer: Offer
    names: tuple[str, ...]
    weights: NDArray[np.float64]
    constants: NDArray[np.float64]
    start: NDArray[np.float64]
    transitions: NDArray[np.float64]
    salt: bytes

    def __repr__(self) -> str:
        return f"Model({self.offer.count} words)"

    @staticmethod
    def of(
        vocabulary: Vocabulary,
        *,
        topology: Topology | None = None,
        method: Method = "forward",
        longest: int = 500,
        padding: int = 1,
        show_words: bool = True,
        bits: Bits | None = None,
    ) -> Model:
        """Prepare a vocabulary for questions; see `Offer` for the settings.

        A model whose chains do not fit ``topology`` is refused. With ``show_words=False`` the list of words
        stays private, and only the one that was spoken is shown.
        """
        chosen: Topology = topology or vocabulary.topology  # pyright: ignore[reportAssignmentType]
        chains = _chains(vocabulary)
        weights, constants, kind, low, high = _forms(vocabulary)
        least = max(-_lowest(part) for part in (*chains,))
        longest_word = max(len(word.encode()) for word in vocabulary.words)
        ranges = Ranges(
            _bound(np.abs(weights).max(initial=0.0)),
            _bound(np.abs(weights).sum(axis=0).max(initial=0.0)),
            _bound(np.abs(constants).max(initial=0.0)),
            _bound(low), _bound(high), _bound(least),
        )  # fmt: skip
        offer = Offer(
            count=len(vocabulary.words),
            words=vocabulary.words if show_words else (),
            label_bytes=0 if show_words else -(-longest_word // 8) * 8,
            kind=kind, dimension=vocabulary.dimension, symbols=vocabulary.symbols,
            states=vocabulary.states, mixtures=vocabulary.mixtures,
            topology=chosen, method=method, ranges=ranges,
            longest=longest, padding=padding, front=dict(vocabulary.front),
        )  # fmt: skip
        salt = (bits or secure()).bytes(_SALT)
        made = Model(offer, vocabulary.words, weights, constants, *chains, salt)
        made = replace(made, offer=replace(offer, model=made.digest()))
        made.check()
        return made
