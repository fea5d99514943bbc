"""A request for word models: defaults by rule, and everything checked before a recording is read.

A rule looks at the request alone, never at the recordings. Private models need few numbers and few rounds, so
their defaults differ: cepstra without slopes, normalised to mean 0 and variance 1 within each recording (so
that ranges are known beforehand), one covariance for all states of a word, two rounds.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from discreet.errors import ParameterError
from discreet.fit.hmm import request as hmm
from discreet.fit.numbers import check_choice, check_whole
from discreet.models.vocabulary import check_words
from discreet.speech.features import Normalise
from discreet.speech.front import Front, Range, Sound

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from discreet.accounting.ledger import Ledger
    from discreet.randomness import Bits

__all__ = ["INPUTS", "PLAIN_REACH", "Request", "check", "declared_front", "hmm_request"]

INPUTS = ("sound", "points", "symbols")

PLAIN_REACH, PRIVATE_REACH = 4.0, 4.0
"""Half the width of a column's range, in standard deviations of the column."""

LEAST = 1e-4
"""No symbol is less likely than this in any state."""

_FLOOR_PLAIN, _FLOOR_PRIVATE = 1e-4, 0.05 / PRIVATE_REACH**2
_ROUNDS = 2
_CODES = 0.6  # the spread of codewords that are drawn, in standard deviations of a column


@dataclass(frozen=True)
class Request:
    """Everything a caller can say; see `WordModels`."""

    n_states: int
    epsilon: float
    delta: float | None
    covariance_type: str | None
    n_mix: int
    topology: str
    rate: int
    ceps: int
    deltas: int | None
    normalise: str | None
    energy: bool
    depth: float | None
    input: str
    n_symbols: int | None
    codebook: Any
    bounds: tuple[ArrayLike, ArrayLike] | None
    min_covar: float | None
    max_frames: int | None
    vocabulary: Sequence[str] | None
    person: str | None
    recordings_per_person: float
    words_per_person: int | None
    noise: str
    n_rounds: int | None
    max_iter: int
    tol: float
    ledger: Ledger | str | Path | None
    dataset: str | None
    bits: Bits

    @property
    def plain(self) -> bool:
        """Whether no privacy is wanted."""
        return _infinite(self.epsilon)

    @property
    def symbolic(self) -> bool:
        """Whether models emit symbols: given ones, or numbers of codewords."""
        return self.input == "symbols" or self.codebook is not None


def check(wanted: Request) -> Request:
    """The request with defaults filled in, or the first thing that is wrong with it."""
    check_choice("input", wanted.input, INPUTS)
    check_choice("topology", wanted.topology, ("left-right", "full"))
    if wanted.normalise is not None:
        check_choice("normalise", wanted.normalise, get_args(Normalise))
    private = not _infinite(wanted.epsilon)
    filled = replace(
        wanted,
        covariance_type=wanted.covariance_type or ("tied" if private else "full"),
        deltas=wanted.deltas if wanted.deltas is not None else 0 if private else 2,
        normalise=wanted.normalise or ("mean-variance" if private else "mean"),
        min_covar=wanted.min_covar
        if wanted.min_covar is not None
        else _FLOOR_PRIVATE
        if private
        else _FLOOR_PLAIN,
        n_rounds=wanted.n_rounds
        if wanted.n_rounds is not None or wanted.symbolic or not private
        else _ROUNDS,
    )
    _check_symbols(filled)
    _check_people(filled)
    if filled.vocabulary is not None:
        check_words(list(filled.vocabulary))
    if filled.input == "sound":
        _check_book(filled, _sound(filled).dimension)
    checked = hmm.check(hmm_request(filled, 2))  # whatever is wrong with numbers is found there
    filled = replace(filled, epsilon=checked.epsilon, delta=checked.delta)
    declared_front(filled)
    if private:
        _check_private(filled)
    return filled


def hmm_request(wanted: Request, alphabet: int) -> hmm.Request:
    """What every word asks of `discreet.fit.hmm`, in unit coordinates."""
    return hmm.Request(
        family="categorical" if wanted.symbolic else "gaussian",
        n_states=wanted.n_states,
        epsilon=wanted.epsilon,
        delta=wanted.delta,
        max_length=wanted.max_frames,
        method="auto",
        skeleton=None,
        topology="left-right" if wanted.topology == "left-right" else None,
        fixed=None,
        max_iter=wanted.max_iter,
        tol=wanted.tol,
        person=None,
        ledger=wanted.ledger,
        dataset=wanted.dataset,
        bits=wanted.bits,
        n_symbols=alphabet if wanted.symbolic else 0,
        covariance_type=wanted.covariance_type,
        n_mix=wanted.n_mix,
        min_covar=wanted.min_covar or _FLOOR_PLAIN,
        bounds=(-1.0, 1.0) if wanted.bounds is not None else None,
        radius=None if wanted.bounds is not None else _radius(wanted),
        sequences_per_person=wanted.recordings_per_person,
        noise=wanted.noise,
        n_rounds=wanted.n_rounds,
    )


def _radius(wanted: Request) -> float | None:
    """Where normalised rows lie: their mean square norm is their number of columns, whatever was recorded."""
    if wanted.input != "sound" or wanted.plain:
        return None
    return math.sqrt(wanted.ceps * (1 + (wanted.deltas or 0))) / PRIVATE_REACH


def declared_front(wanted: Request) -> Front | None:
    """The front as far as it is declared; None where a plain fit has to look at recordings for it."""
    if wanted.input == "symbols":
        return Front(symbols=int(wanted.n_symbols or 0))
    sound = _sound(wanted) if wanted.input == "sound" else None
    span = _declared_range(wanted, sound)
    if span is None:
        return None
    book = _declared_book(wanted, len(span.scale))
    if book is None:
        return None
    return Front(sound, span, book)


def _sound(wanted: Request) -> Sound:
    normalise: Any = wanted.normalise
    return Sound(wanted.rate, wanted.ceps, int(wanted.deltas or 0), normalise, wanted.energy, wanted.depth)


def _declared_range(wanted: Request, sound: Sound | None) -> Range | None:
    """Out of bounds, or known from the normalisation of a private fit."""
    if wanted.bounds is not None:
        from discreet.domain import declare_region

        columns = sound.dimension if sound is not None else max(np.size(part) for part in wanted.bounds)
        region = declare_region(columns, bounds=wanted.bounds)
        return Range(tuple(region.center.tolist()), tuple(region.scale.tolist()))
    if wanted.plain or sound is None:
        return None
    return Range((0.0,) * sound.dimension, (PRIVATE_REACH,) * sound.dimension)


def _declared_book(wanted: Request, columns: int) -> tuple[tuple[float, ...], ...] | None:
    """Codewords that were given, or drawn without a look at recordings; None where k-means has to look."""
    if wanted.codebook is None:
        return ()
    if np.ndim(wanted.codebook) == 2:
        return tuple(tuple(row) for row in np.asarray(wanted.codebook, dtype=np.float64).tolist())
    if wanted.plain:
        return None
    from discreet.randomness import generator, seeded

    drawn: NDArray[np.float64] = generator(seeded(0)).standard_normal((int(wanted.codebook), columns))
    drawn = np.clip(drawn * _CODES / PRIVATE_REACH, -1, 1)
    return tuple(tuple(row) for row in drawn.tolist())


def _check_symbols(wanted: Request) -> None:
    if (wanted.input == "symbols") != (wanted.n_symbols is not None):
        raise ParameterError(
            "n_symbols is for symbols" if wanted.n_symbols is not None else "n_symbols is not declared",
            wanted="input='symbols' and n_symbols=, or neither",
        )
    if wanted.n_symbols is not None:
        check_whole("n_symbols", wanted.n_symbols, 2, 2**20)
    if wanted.codebook is None:
        return
    if wanted.input == "symbols":
        raise ParameterError("symbols need no codebook", remedy="Leave codebook out.")
    if np.ndim(wanted.codebook) == 0:
        check_whole("codebook", wanted.codebook, 2, 4096)
    elif np.ndim(wanted.codebook) != 2:
        raise ParameterError("the codebook is neither a number nor rows of codewords", wanted="64, or (M, d)")


def _check_book(wanted: Request, columns: int) -> None:
    if np.ndim(wanted.codebook) == 2 and np.shape(wanted.codebook)[1] != columns:
        raise ParameterError(
            "the codebook does not fit the cepstra", got=np.shape(wanted.codebook), wanted=f"(M, {columns})"
        )


def _check_people(wanted: Request) -> None:
    if not isinstance(wanted.person, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(
            "person is not a name", got=type(wanted.person).__name__, wanted="'speaker', or None"
        )
    if wanted.words_per_person is not None:
        check_whole("words_per_person", wanted.words_per_person, 1, 2**20)
    if wanted.person is None and (wanted.recordings_per_person != 1.0 or wanted.words_per_person is not None):
        raise ParameterError(
            "recordings_per_person and words_per_person bound nobody",
            wanted="person='speaker', and speakers given to fit",
        )


def _check_private(wanted: Request) -> None:
    if wanted.vocabulary is None:
        raise ParameterError(
            "the words are not declared",
            wanted="vocabulary=, the words that can be said",
            remedy="Which words were recorded is private.",
        )
    if wanted.max_frames is None:
        raise ParameterError(
            "max_frames is not declared",
            wanted="the longest recording that counts, in frames of 10 ms: a public number",
            remedy="100 frames are a second; longer recordings are cut.",
        )
    if wanted.n_mix > 1:
        raise ParameterError(
            "private models have one Gaussian a state", got=f"n_mix={wanted.n_mix}", wanted="n_mix=1"
        )
    by_rule = wanted.input == "sound" and wanted.normalise == "mean-variance"
    if wanted.input != "symbols" and wanted.bounds is None and not by_rule:
        raise ParameterError(
            "no range of the features is declared",
            wanted="bounds=(low, high) of the columns, or normalise='mean-variance'",
            remedy="Bounds taken from the recordings would reveal them.",
        )


def _infinite(epsilon: object) -> bool:
    return isinstance(epsilon, numbers.Real) and math.isinf(epsilon) and float(epsilon) > 0
