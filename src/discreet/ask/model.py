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
from typing import TYPE_CHECKING, Any, Literal

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
    from discreet.protocols.recursion import Trellis, Weights
    from discreet.randomness import Bits

__all__ = ["Model", "trellis_of"]

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
        least = max(-_lowest(part) for part in chains)
        forms = _forms(vocabulary, longest, least)
        longest_word = max(len(word.encode()) for word in vocabulary.words)
        kind = "symbols" if vocabulary.symbols else _kind(vocabulary.covariance_type)
        offer = Offer(
            count=len(vocabulary.words),
            words=vocabulary.words if show_words else (),
            label_bytes=0 if show_words else -(-longest_word // 8) * 8,
            kind=kind, dimension=vocabulary.dimension, symbols=vocabulary.symbols,
            states=vocabulary.states, mixtures=vocabulary.mixtures,
            topology=chosen, method=method, ranges=_ranges(forms, least),
            longest=longest, padding=padding, front=dict(vocabulary.front),
        )  # fmt: skip
        salt = (bits or secure()).bytes(_SALT)
        made = Model(offer, vocabulary.words, forms.weights, forms.constants, *chains, salt)
        made = replace(made, offer=replace(offer, model=made.digest()))
        made.check()
        return made

    def check(self) -> None:
        """Refuse chains that do not fit the offer: its topology, or its widths at the longest."""
        from discreet.protocols.recursion import check_range

        outside = np.ones((self.offer.states, self.offer.states), dtype=bool)
        outside[tuple(np.array(self.offer.arcs).T)] = False
        if np.isfinite(self.transitions[:, outside]).any():
            raise ParameterError(
                "a model takes steps that the topology does not have",
                got=self.offer.topology,
                wanted="full",
                remedy='Ask with topology="full".',
            )
        for frames in {1, self.offer.longest}:
            try:
                check_range(trellis_of(self.offer, frames), self.chains)
            except ParameterError as error:
                if np.isfinite(self.transitions[:, ~outside]).all():
                    raise
                # a state that can be neither entered nor kept gets worse with every step
                raise ParameterError(
                    "a model has impossible steps that add up",
                    got="steps of the topology with probability zero",
                    remedy="Give every step of the topology some probability, for example 1e-6.",
                ) from error

    @property
    def chains(self) -> Weights:
        """Starts and transitions for the recursion; every state may be the last."""
        from discreet.protocols.recursion import Weights

        return Weights(self.start, self.transitions, np.zeros_like(self.start))

    @property
    def label_bits(self) -> NDArray[np.uint8] | None:
        """The words as bits, (words, bits of a label), if they are not shown."""
        size = self.offer.label_bytes
        if not size:
            return None
        raw = b"".join(name.encode().ljust(size, b"\0") for name in self.names)
        return np.unpackbits(np.frombuffer(raw, dtype=np.uint8).reshape(-1, size), axis=1, bitorder="little")

    def digest(self) -> str:
        """SHA-256 of the salt and of all that is private."""
        told = hashlib.sha256(self.salt)
        for name in self.names:
            told.update(len(name.encode()).to_bytes(4, "little") + name.encode())
        for array in (self.weights, self.constants, self.start, self.transitions):
            told.update(repr(array.shape).encode() + np.ascontiguousarray(array, dtype="<f8").tobytes())
        return told.hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """As plain data and arrays, for another process of the same owner."""
        arrays = {"weights": self.weights, "constants": self.constants}
        chains = {"start": self.start, "transitions": self.transitions}
        return {
            "offer": self.offer.to_dict(),
            "names": list(self.names),
            "salt": self.salt,
            **arrays,
            **chains,
        }

    @staticmethod
    def read(plain: Mapping[str, Any]) -> Model:
        """Read back `to_dict`."""
        rest = {name: plain[name] for name in ("weights", "constants", "start", "transitions", "salt")}
        return Model(Offer.of(plain["offer"]), tuple(plain["names"]), **rest)


def trellis_of(offer: Offer, frames: int) -> Trellis:
    """The recursion of one recording of so many frames, with the widths of the offer."""
    from discreet.protocols.recursion import Trellis

    wide = offer.precision
    return Trellis(
        "max" if offer.method == "viterbi" else "logsum",
        frames,
        offer.count,
        offer.arcs,
        low=-wide.low,
        high=wide.high,
        never=wide.never,
        width=wide.width,
        fraction=wide.fraction,
        error=wide.table_error,
        opened="evaluator",
    )


@dataclass(frozen=True)
class _Forms:
    """Weights (terms, columns), constants (columns), and how low and high a score of a frame can be."""

    weights: NDArray[np.float64]
    constants: NDArray[np.float64]
    low: float
    high: float


def _kind(covariance_type: str | None) -> Literal["full", "diag"]:
    """Which products of coordinates are features."""
    return "diag" if covariance_type in ("diag", "spherical") else "full"


def _ranges(forms: _Forms, least: float) -> Ranges:
    """What is declared of them."""
    sizes = np.abs(forms.weights)
    return Ranges(
        heaviest=_bound(sizes.max(initial=0.0)),
        total=_bound(sizes.sum(axis=0).max(initial=0.0)),
        constant=_bound(np.abs(forms.constants).max(initial=0.0)),
        low=_bound(forms.low),
        high=_bound(forms.high),
        least=_bound(least),
    )


def _chains(vocabulary: Vocabulary) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    with np.errstate(divide="ignore"):
        start = np.log(np.stack([model.chain.start for model in vocabulary.models]))
        return start, np.log(np.stack([model.chain.transition for model in vocabulary.models]))


def _forms(vocabulary: Vocabulary, longest: int, least: float) -> _Forms:
    """The forms of all components of all states of all words."""
    if vocabulary.symbols:
        emissions: list[Any] = [model.emission for model in vocabulary.models]
        return _symbols(emissions, longest, least)
    parts = [_form(model.emission) for model in vocabulary.models]
    return _Forms(
        np.concatenate([part.weights for part in parts], axis=1),
        np.concatenate([part.constants for part in parts]),
        max(part.low for part in parts),
        max(part.high for part in parts),
    )


def _form(emission: Any) -> _Forms:
    if isinstance(emission, Blend):
        return _blend(emission)
    return _gaussians(emission, np.zeros(emission.states))


def _symbols(emissions: list[Categorical], longest: int, least: float) -> _Forms:
    """Logarithms of probabilities; one that is zero costs more than any possible recording."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.concatenate([emission.probabilities for emission in emissions]))
    lowest, states = -_lowest(logs), emissions[0].states
    impossible = 2.0 ** _bound((longest + 1) * (lowest + least + math.log(states)) + 10)
    logs = np.where(np.isneginf(logs), -impossible, logs)
    return _Forms(logs.T, np.zeros(len(logs)), float(-logs.min()), 0.0)


def _blend(emission: Blend) -> _Forms:
    """Components with their weights; one of weight zero is replaced by half of the heaviest."""
    weights, components = (
        emission.weights.copy(),
        np.arange(emission.weights.size).reshape(emission.weights.shape),
    )
    for state, line in enumerate(weights):
        best = int(line.argmax())
        absent = np.flatnonzero(line == 0)
        line[[best, *absent]] = line[best] / (len(absent) + 1)
        components[state, absent] = components[state, best]
    inner, chosen = emission.components, components.ravel()
    full = unpack_covariances(inner.covariances, inner.means, inner.kind)[chosen]
    return _points(inner.means[chosen], full, _kind(inner.kind), np.log(weights.ravel()))


def _gaussians(emission: Gaussian, logs: NDArray[np.float64]) -> _Forms:
    full = unpack_covariances(emission.covariances, emission.means, emission.kind)
    return _points(emission.means, full, _kind(emission.kind), logs)


def _points(
    means: NDArray[np.float64], covariances: NDArray[np.float64], kind: str, logs: NDArray[np.float64]
) -> _Forms:
    """The forms of Gaussians: (components, d) means and (components, d, d) covariances."""
    inverse = np.linalg.inv(covariances)
    inverse = (inverse + inverse.swapaxes(1, 2)) / 2
    linear = np.einsum("kij,kj->ki", inverse, means)
    top = logs - 0.5 * (np.linalg.slogdet(covariances)[1] + means.shape[1] * math.log(2 * math.pi))
    constants = top - 0.5 * np.einsum("ki,ki->k", means, linear)
    if kind == "diag":
        quadratic = -0.5 * np.einsum("kii->ki", inverse)
    else:
        rows, columns = np.triu_indices(means.shape[1])
        quadratic = -inverse[:, rows, columns] * np.where(rows == columns, 0.5, 1.0)
    far = 1 + np.abs(means)  # no feature is farther from the mean
    steepest = np.linalg.eigvalsh(inverse)[:, -1] * (far**2).sum(axis=1)
    summed = np.einsum("kij,ki,kj->k", np.abs(inverse), far, far)
    low = float((0.5 * np.minimum(steepest, summed) - top).max())
    weights = np.concatenate([linear, quadratic], axis=1).T
    return _Forms(weights, constants, low, float(top.max()))


def _bound(value: float) -> int:
    """The smallest exponent of two that is no less."""
    return math.ceil(math.log2(max(float(value), 2.0**-20)))


def _lowest(logs: NDArray[np.float64]) -> float:
    return float(logs[np.isfinite(logs)].min(initial=0.0))
