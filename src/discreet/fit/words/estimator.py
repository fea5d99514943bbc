"""`WordModels`: which word was said? One hidden Markov model a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn import exceptions
from sklearn.base import BaseEstimator

from discreet.bundle import WORDS, Bundle, load_bundle, read_vocabulary, save_bundle, tensor_digest
from discreet.errors import BundleError, DataError, NotFittedError
from discreet.fit.words import card
from discreet.fit.words.budget import plan_budget
from discreet.fit.words.recordings import listed, make_features, read_labels
from discreet.fit.words.request import Request, check, declared_front
from discreet.fit.words.run import run
from discreet.randomness import bits_of
from discreet.records.blas import single_blas
from discreet.speech.front import Front

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from discreet.accounting.guarantee import Guarantee
    from discreet.accounting.ledger import Ledger
    from discreet.models.vocabulary import Method, Vocabulary
    from discreet.randomness import RandomState

__all__ = ["WordModels"]


class _Unfitted(NotFittedError, exceptions.NotFittedError):
    """Ours, and scikit-learn's."""


class WordModels(BaseEstimator):
    """Word models out of labelled recordings, and the recogniser that takes the likeliest word.

    **Reveals** the models, and for plain fits the range of the features. **Trusts** whoever runs the fit.

    Parameters
    ----------
    n_states: hidden states of each word's model.
    covariance_type: "full", "diag", "tied" or "spherical"; usually "full" for plain and "tied" (one for all
        states of a word) for private fits. n_mix: Gaussians a state, plain fits only.
    topology: "left-right" (start in the first state, stay or go on) or "full".
    epsilon, delta: the budget of all words together. ``float("inf")`` is the plain fit, which is not private.
    rate: 8000 or 16000 samples a second. ceps, deltas, normalise, energy, depth: as in
        `discreet.speech.cepstra`; frames more than ``depth`` decibels below the loudest are left out. Usually
        39 numbers normalised to mean 0; 13 with mean 0 and variance 1 for private fits.
    input: "sound", or "points" (rows of numbers) or "symbols" (whole numbers below ``n_symbols``) as given.
    codebook: how many codewords frames are replaced by, or the codewords (M, d) in unit coordinates. A plain
        fit finds them by k-means; a private one draws them without a look at recordings.
    bounds: (low, high) of the columns, publicly known. Without it a plain fit takes four standard deviations
        of its recordings; a private one needs it unless cepstra have mean 0 and variance 1.
    min_covar: no variance is smaller, in unit coordinates, in which every column's range is [-1, 1].
    max_frames: the longest recording that counts, in frames of 10 ms. Private fits need it.
    vocabulary: the words, in the order of the models. Private fits need it.
    person: None protects recordings; "speaker", or any name, protects all recordings of one speaker.
    recordings_per_person: what one speaker's recordings of one word weigh together at most.
    words_per_person: how many words' worth a speaker may weigh in all (usually all words); see
        `discreet.fit.words.budget`.
    noise, n_rounds, max_iter, tol, ledger, dataset, random_state: as for `GaussianHMM`.

    Attributes
    ----------
    vocabulary_, front_: the models, and what turns recordings into their features. guarantee_, receipt_.
    """

    def __init__(
        self,
        n_states: int = 5,
        *,
        epsilon: float,
        delta: float | None = None,
        covariance_type: str | None = None,
        n_mix: int = 1,
        topology: str = "left-right",
        rate: int = 8000,
        ceps: int = 13,
        deltas: int | None = None,
        normalise: str | None = None,
        energy: bool = False,
        depth: float | None = None,
        input: str = "sound",
        n_symbols: int | None = None,
        codebook: int | ArrayLike | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        min_covar: float | None = None,
        max_frames: int | None = None,
        vocabulary: Sequence[str] | None = None,
        person: str | None = None,
        recordings_per_person: float = 1.0,
        words_per_person: int | None = None,
        noise: str = "gaussian",
        n_rounds: int | None = None,
        max_iter: int = 10,
        tol: float = 0.0,
        ledger: Ledger | str | Path | None = None,
        dataset: str | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_states = n_states
        self.epsilon = epsilon
        self.delta = delta
        self.covariance_type = covariance_type
        self.n_mix = n_mix
        self.topology = topology
        self.rate = rate
        self.ceps = ceps
        self.deltas = deltas
        self.normalise = normalise
        self.energy = energy
        self.depth = depth
        self.input = input
        self.n_symbols = n_symbols
        self.codebook = codebook
        self.bounds = bounds
        self.min_covar = min_covar
        self.max_frames = max_frames
        self.vocabulary = vocabulary
        self.person = person
        self.recordings_per_person = recordings_per_person
        self.words_per_person = words_per_person
        self.noise = noise
        self.n_rounds = n_rounds
        self.max_iter = max_iter
        self.tol = tol
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state

    def fit(
        self,
        recordings: Sequence[Any],
        words: Sequence[Any],
        speakers: Sequence[Any] | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Fit to recordings (arrays, or paths of sound files), the word of each, and who spoke it."""
        wanted = self._request()
        self._forget()
        items = listed(recordings)
        labels = read_labels(items, words, speakers, wanted.vocabulary)
        outcome = run(wanted, items, labels, progress)
        self.vocabulary_, self.front_ = outcome.vocabulary, outcome.front
        self.guarantee_, self.receipt_ = outcome.guarantee, outcome.receipt
        return self

    def plan(self, words: int | None = None) -> Guarantee:
        """What `fit` would promise of so many words: nothing is read, drawn or spent."""
        wanted = self._request()
        front = declared_front(wanted)
        alphabet = front.alphabet if front is not None else 2
        count = words or (len(wanted.vocabulary) if wanted.vocabulary is not None else 1)
        return plan_budget(wanted, count, alphabet).guarantee

    def features(self, recordings: Sequence[Any]) -> list[NDArray[Any]]:
        """The features of recordings: what the models, and `discreet.ask`, score."""
        self._model()
        return make_features(listed(recordings), self.front_)

    def scores(self, recordings: Sequence[Any], method: Method = "forward") -> NDArray[np.float64]:
        """The log-likelihood of every recording under every word's model, (recordings, words)."""
        with single_blas():
            return self._model().scores_of(self.features(recordings), method)

    def predict(self, recordings: Sequence[Any], method: Method = "forward") -> NDArray[np.str_]:
        """The likeliest word of each recording."""
        return np.array(self._model().words)[self.scores(recordings, method).argmax(axis=1)]

    def score(self, recordings: Sequence[Any], words: Sequence[Any]) -> float:
        """The share of recordings whose likeliest word is the right one. It is computed from them."""
        said = np.array([str(word) for word in words])
        if len(said) != len(recordings):
            raise DataError("the words do not fit the recordings", wanted="one word for each recording")
        return float((self.predict(recordings) == said).mean())

    def save(self, path: str | Path) -> Path:
        """Write the released models as a folder (see `discreet.bundle`); an older one there is replaced."""
        return save_bundle(path, self.to_bundle())

    def to_bundle(self) -> Bundle:
        """The released tensors, the description, the receipt and the model card."""
        vocabulary = self._model()
        tensors = vocabulary.tensors()
        digest = tensor_digest(tensors)
        if digest != self.receipt_["account"]["digest"]:
            raise BundleError(
                "the models are not those that were released",
                remedy="They were changed after the fit; only what was paid for can be saved.",
            )
        description = card.describe(vocabulary, self.guarantee_, self.receipt_)
        return Bundle(
            WORDS, tensors, description, self.receipt_, card.write_card(vocabulary, self.guarantee_, digest)
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read released models back, bit for bit."""
        bundle = load_bundle(path, WORDS)
        vocabulary = read_vocabulary(bundle)
        promised = card.read_guarantee(bundle)
        front = Front.of(vocabulary.front)
        model = cls(
            vocabulary.states,
            epsilon=promised.epsilon,
            delta=promised.delta,
            covariance_type=vocabulary.covariance_type,
            n_mix=vocabulary.mixtures,
            topology=vocabulary.topology,
            vocabulary=vocabulary.words,
            input="symbols" if front.symbols else "sound" if front.sound else "points",
            n_symbols=front.symbols or None,
        )
        if front.sound is not None:
            model.set_params(**vars(front.sound))
        model.vocabulary_, model.front_ = vocabulary, front
        model.guarantee_, model.receipt_ = promised, dict(bundle.receipt)
        return model

    def _request(self) -> Request:
        values = {
            name: value for name, value in self.get_params(deep=False).items() if name != "random_state"
        }
        return check(Request(**values, bits=bits_of(self.random_state)))

    def _forget(self) -> None:
        """Drop an earlier result, so that a failed fit cannot pass for it."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _model(self) -> Vocabulary:
        if not hasattr(self, "vocabulary_"):
            raise _Unfitted("these models are not fitted yet", remedy="Call fit, or load saved ones.")
        return self.vocabulary_
