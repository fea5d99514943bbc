"""`CategoricalHMM` and `GaussianHMM`: hidden Markov models with hmmlearn's interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from sklearn import exceptions
from sklearn.base import BaseEstimator

from discreet.bundle import Bundle, load_bundle, save_bundle, tensor_digest
from discreet.errors import BundleError, NotFittedError, ParameterError
from discreet.fit.hmm import ask, card, peer, request, words
from discreet.fit.hmm.data import Sequences, read_labels, read_points, read_symbols, read_weights
from discreet.fit.hmm.run import declare, run
from discreet.fit.hmm.table import take
from discreet.models.parameters import model_of, tensors_of
from discreet.randomness import bits_of, generator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from discreet.accounting.guarantee import Guarantee
    from discreet.accounting.ledger import Ledger
    from discreet.fit.hmm.request import Request
    from discreet.models.hmm import HMM
    from discreet.randomness import RandomState
    from discreet.records.engine import Engine

__all__ = ["CategoricalHMM", "GaussianHMM"]


class _Unfitted(NotFittedError, exceptions.NotFittedError):
    """Ours, and scikit-learn's."""


class _HMM(ABC, BaseEstimator):
    """What both families share: everything but how rows are read and which parameters there are."""

    _family: ClassVar[str]
    _kind: ClassVar[str]
    _names: ClassVar[tuple[str, ...]]

    def fit(
        self,
        X: Any,
        lengths: ArrayLike | None = None,
        *,
        states: Any = None,
        person: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Fit to sequences: one array of stacked rows with ``lengths``, or a list of arrays.

        ``states`` are hidden states in the same form, -1 where they are not known. ``sample_weight`` has one
        weight a sequence, for plain fits. ``person`` has one id a sequence: then persons are protected, and
        not single sequences. A sequence that the start cannot emit counts for nothing.

        X can also be a data frame, an Arrow table, or paths of Parquet or CSV files: then ``columns``,
        ``sequence``, ``order`` and ``person`` of the model name its columns, and ``states`` names one too.
        """
        wanted = self._request()
        self._forget()
        given = take(wanted, X, lengths, states, person)
        data = self._read(given.rows, given.lengths)
        labels = None if given.states is None else read_labels(given.states, data.lengths, wanted.n_states)
        weights = None if sample_weight is None else read_weights(sample_weight, len(data.lengths))
        whole = Sequences(data.rows, data.lengths, labels, weights)
        outcome = run(wanted, whole, person=given.person, names=given.names, progress=progress)
        self._keep(tensors_of(outcome.model))
        self.guarantee_ = outcome.guarantee
        self.receipt_ = outcome.receipt
        self.n_iter_ = outcome.rounds
        self.converged_ = outcome.converged
        return self

    def plan(
        self, *, labelled: bool = False, by_person: bool | None = None, dimension: int | None = None
    ) -> Guarantee:
        """What `fit` would promise of so many columns: nothing is read, drawn or spent."""
        wanted = self._request()
        by = wanted.person is not None if by_person is None else by_person
        planned = request.plan(wanted, labelled=labelled, by_person=by)
        if dimension is not None:
            declare(wanted, dimension)
        return planned.guarantee

    def score(self, X: Any, lengths: ArrayLike | None = None) -> float:
        """The log-likelihood of all sequences together. It is computed from them: as private as they are."""
        return float(self.scores(X, lengths).sum())

    def scores(self, X: Any, lengths: ArrayLike | None = None) -> NDArray[np.float64]:
        """The log-likelihood of each sequence; minus infinity for one that the model cannot emit."""
        return ask.scores(self._model(), self._read(X, lengths))

    def score_samples(self, X: Any, lengths: ArrayLike | None = None) -> tuple[float, NDArray[np.float64]]:
        """The log-likelihood of all sequences, and the probability of each state at each row (F, N)."""
        likelihoods, shares = ask.posteriors(self._model(), self._read(X, lengths))
        return float(likelihoods.sum()), shares

    def predict_proba(self, X: Any, lengths: ArrayLike | None = None) -> NDArray[np.float64]:
        """The probability of each state at each row (F, N); zeros for a sequence that cannot be."""
        return self.score_samples(X, lengths)[1]

    def decode(
        self, X: Any, lengths: ArrayLike | None = None, algorithm: str = "viterbi"
    ) -> tuple[float, NDArray[np.intp]]:
        """The log-probability of the best paths, and the paths: "viterbi", or "map" for the best state a row.

        For "map" the number is the sum over rows of the probability of the chosen state, as in hmmlearn.
        """
        if algorithm not in ("viterbi", "map"):
            raise ParameterError("there is no such algorithm", got=algorithm, wanted="'viterbi' or 'map'")
        if algorithm == "map":
            shares = self.predict_proba(X, lengths)
            return float(shares.max(axis=1).sum()), shares.argmax(axis=1)
        likelihoods, path = ask.paths(self._model(), self._read(X, lengths))
        return float(likelihoods.sum()), path

    def predict(self, X: Any, lengths: ArrayLike | None = None) -> NDArray[np.intp]:
        """The states of the best paths, one a row."""
        return self.decode(X, lengths)[1]

    def sample(
        self, n_samples: int | ArrayLike = 1, random_state: RandomState = None
    ) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """A sequence of so many rows, or several of these lengths, stacked; and their hidden states."""
        lengths = np.atleast_1d(np.asarray(n_samples))
        if lengths.ndim != 1 or not np.issubdtype(lengths.dtype, np.integer) or lengths.min(initial=1) < 1:
            raise ParameterError(
                "cannot draw sequences of such lengths", wanted="a whole number of at least 1, or several"
            )
        return self._model().sample(lengths.astype(np.intp), generator(bits_of(random_state)))

    def to_hmmlearn(self) -> Any:
        """An hmmlearn model with the released parameters and nothing else."""
        self._model()
        return peer.to_peer(self._tensors(), self._covariance_type())

    @classmethod
    def from_hmmlearn(cls, model: Any) -> Self:
        """The parameters of a fitted hmmlearn model. Nothing is promised about the data behind them."""
        tensors, covariance_type = peer.from_peer(model, cls._family)
        return cls._made(tensors, covariance_type)

    def to_json(self) -> str:
        """The parameters as JSON, exactly; the same text, or a file of it, serves as a skeleton."""
        self._model()
        return words.to_json(self._tensors(), self._kind, self._covariance_type())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read back what `to_json` wrote."""
        tensors, covariance_type = words.from_json(text, cls._kind)
        return cls._made(tensors, covariance_type)

    def save(self, path: str | Path) -> Path:
        """Write the released model as a folder (see `discreet.bundle`); an older one there is replaced."""
        return save_bundle(path, self.to_bundle())

    def to_bundle(self) -> Bundle:
        """The released tensors, the description, the receipt and the model card."""
        self._model()
        if not hasattr(self, "receipt_"):
            raise BundleError(
                "this model was not fitted here, so there is nothing to say about it",
                remedy="Use to_json(), or fit.",
            )
        tensors = self._tensors()
        digest = tensor_digest(tensors)
        if digest != self.receipt_["account"]["digest"]:
            raise BundleError(
                "the parameters are not those that were released",
                remedy="They were changed after the fit; only what was paid for can be saved.",
            )
        description = card.describe(
            tensors, self._emissions(), self._covariance_type(), self.guarantee_, self.receipt_
        )
        text = card.write_card(description, self.guarantee_, digest, type(self).__name__)
        return Bundle(self._kind, tensors, description, self.receipt_, text)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a released model back, bit for bit."""
        bundle = load_bundle(path, cls._kind)
        card.read_model(bundle)
        parameters, domain, promised = card.read_description(bundle)
        model = cls._made(bundle.tensors, parameters["covariance_type"])
        model.set_params(epsilon=promised.epsilon, delta=promised.delta)
        if domain.get("symbols") is not None:
            model.set_params(symbols=domain["symbols"])
        model.guarantee_, model.receipt_ = promised, dict(bundle.receipt)
        model.n_iter_, model.converged_ = parameters["rounds"], True
        return model

    @classmethod
    @abstractmethod
    def _made(cls, tensors: Mapping[str, NDArray[np.float64]], covariance_type: str | None) -> Self:
        """An estimator with these parameters, as if it had been fitted."""

    @abstractmethod
    def _read(self, X: Any, lengths: ArrayLike | None) -> Sequences: ...

    @abstractmethod
    def _emissions(self) -> str: ...

    def _covariance_type(self) -> str | None:
        return None

    def _request(self) -> Request:
        names = {name for name in self.get_params(deep=False) if name != "random_state"}
        values = {name: getattr(self, name) for name in names}
        bits = bits_of(cast("Any", self).random_state)
        return request.check(request.Request(self._family, **values, bits=bits))

    def _forget(self) -> None:
        """Drop an earlier result, so that a failed fit cannot pass for it."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _keep(self, tensors: Mapping[str, NDArray[np.float64]]) -> None:
        for name, value in tensors.items():
            setattr(self, f"{name}_", value)

    def _tensors(self) -> dict[str, NDArray[np.float64]]:
        return {
            name: np.asarray(getattr(self, f"{name}_"), dtype=np.float64)
            for name in self._names
            if hasattr(self, f"{name}_")
        }

    def _model(self) -> HMM:
        tensors = self._tensors()
        if set(self._names) - set(tensors) - {"weights"}:
            raise _Unfitted("this model is not fitted yet", remedy="Call fit, or load a saved one.")
        return model_of(tensors, self._covariance_type())


class CategoricalHMM(_HMM):
    """A hidden Markov model of symbols, with hmmlearn's interface.

    **Reveals** the fitted start, transition and emission probabilities. **Trusts** whoever runs the fit.

    Parameters
    ----------
    n_states, n_symbols: how many hidden states and symbols there are; symbols are 0 to n_symbols - 1.
    epsilon, delta: the budget; there is no default for epsilon. ``float("inf")`` is the plain fit, which is
        not private.
    max_length: the declared longest length; what lies beyond it is left out of the fit.
    method: "auto".
    skeleton: where the fit starts: a dictionary with any of startprob, transmat and emissionprob, or JSON
        with these (a file, or its text). Zeros stay zero. Without it, start and transitions start all
        alike, and emissions at random from ``random_state``.
    topology: None, or "left-right": start in the first state, stay or go to the next.
    fixed: entries that keep the skeleton's value: a dictionary of True or boolean arrays by part.
    max_iter, tol: rounds at most, and the gain in log-likelihood a row below which a plain fit ends.
    columns, sequence, order, person: the columns of a table (see `discreet.records.read_sequences`). With
        ``person`` persons are protected, whose sequences weigh ``sequences_per_person`` together at most.
    symbols: what symbols are called, where a table holds names; they are declared, never found in the data.
    ledger, dataset: what to charge, a `Ledger` or its path, and under which name.
    random_state: an integer makes a fit that can be repeated.

    Attributes
    ----------
    startprob_, transmat_, emissionprob_: as in hmmlearn. guarantee_, receipt_: what was promised and paid.
    n_iter_, converged_: rounds done, and whether the likelihood had settled.
    """

    _family: ClassVar[str] = "categorical"
    _kind: ClassVar[str] = "categorical-hmm"
    _names: ClassVar[tuple[str, ...]] = ("startprob", "transmat", "emissionprob")

    def __init__(
        self,
        n_states: int,
        n_symbols: int,
        *,
        epsilon: float,
        delta: float | None = None,
        max_length: int | None = None,
        method: str = "auto",
        skeleton: Mapping[str, Any] | str | Path | None = None,
        topology: str | None = None,
        fixed: Mapping[str, Any] | None = None,
        noise: str = "gaussian",
        n_rounds: int | None = None,
        sequences_per_person: float = 1.0,
        max_iter: int = 500,
        tol: float = 1e-6,
        symbols: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        sequence: str | None = None,
        order: str | None = None,
        person: str | None = None,
        ledger: Ledger | str | Path | None = None,
        dataset: str | None = None,
        random_state: RandomState = None,
        engine: Engine | None = None,
    ) -> None:
        self.n_states = n_states
        self.n_symbols = n_symbols
        self.epsilon = epsilon
        self.delta = delta
        self.max_length = max_length
        self.method = method
        self.skeleton = skeleton
        self.topology = topology
        self.fixed = fixed
        self.noise = noise
        self.n_rounds = n_rounds
        self.sequences_per_person = sequences_per_person
        self.max_iter = max_iter
        self.tol = tol
        self.symbols = symbols
        self.columns = columns
        self.sequence = sequence
        self.order = order
        self.person = person
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state
        self.engine = engine

    @classmethod
    def _made(cls, tensors: Mapping[str, NDArray[np.float64]], covariance_type: str | None) -> Self:
        model_of(tensors)
        model = cls(*tensors["emissionprob"].shape, epsilon=float("inf"))
        model._keep(tensors)
        return model

    def _read(self, X: Any, lengths: ArrayLike | None) -> Sequences:
        return read_symbols(X, lengths, self.n_symbols)

    def _emissions(self) -> str:
        return f"{self.n_symbols} symbols"


class GaussianHMM(_HMM):
    """A hidden Markov model of points, with hmmlearn's interface; ``n_mix`` above 1 is its GMMHMM.

    **Reveals** the fitted start and transition probabilities, means, covariances and weights. **Trusts**
    whoever runs the fit.

    Parameters
    ----------
    n_states: how many hidden states there are. n_mix: how many Gaussians each of them has.
    covariance_type: "diag" (default), "full", "tied" or "spherical".
    min_covar: no variance, in any direction, is fitted smaller than this.
    radius, bounds: where points can lie, from public knowledge: within a distance of 0, or (low, high).
        Points outside are moved to the border. A plain fit may leave them out.
    skeleton: as for `CategoricalHMM`, with any of startprob, transmat, means, covars and weights. Parts of
        the emissions that it leaves out start from rows given to states: by their labels; by cutting every
        sequence into equal parts (left-right); or by k-means, seeded from ``random_state``.
    fixed: as for `CategoricalHMM`; for means and covars, True or one boolean a state.

    All else is as for `CategoricalHMM`.

    Attributes
    ----------
    startprob_, transmat_, means_, covars_: as hmmlearn takes them (diag: (N, d), spherical: (N,));
    weights_ for mixtures. guarantee_, receipt_, n_iter_, converged_.
    """

    _family: ClassVar[str] = "gaussian"
    _kind: ClassVar[str] = "gaussian-hmm"
    _names: ClassVar[tuple[str, ...]] = ("startprob", "transmat", "means", "covars", "weights")

    def __init__(
        self,
        n_states: int,
        *,
        epsilon: float,
        delta: float | None = None,
        covariance_type: str = "diag",
        n_mix: int = 1,
        min_covar: float = 1e-3,
        radius: float | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        center: ArrayLike = 0.0,
        max_length: int | None = None,
        method: str = "auto",
        skeleton: Mapping[str, Any] | str | Path | None = None,
        topology: str | None = None,
        fixed: Mapping[str, Any] | None = None,
        noise: str = "gaussian",
        n_rounds: int | None = None,
        sequences_per_person: float = 1.0,
        max_iter: int = 500,
        tol: float = 1e-6,
        columns: Sequence[str] | None = None,
        sequence: str | None = None,
        order: str | None = None,
        person: str | None = None,
        ledger: Ledger | str | Path | None = None,
        dataset: str | None = None,
        random_state: RandomState = None,
        engine: Engine | None = None,
    ) -> None:
        self.n_states = n_states
        self.epsilon = epsilon
        self.delta = delta
        self.covariance_type = covariance_type
        self.n_mix = n_mix
        self.min_covar = min_covar
        self.radius = radius
        self.bounds = bounds
        self.center = center
        self.max_length = max_length
        self.method = method
        self.skeleton = skeleton
        self.topology = topology
        self.fixed = fixed
        self.noise = noise
        self.n_rounds = n_rounds
        self.sequences_per_person = sequences_per_person
        self.max_iter = max_iter
        self.tol = tol
        self.columns = columns
        self.sequence = sequence
        self.order = order
        self.person = person
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state
        self.engine = engine

    @classmethod
    def _made(cls, tensors: Mapping[str, NDArray[np.float64]], covariance_type: str | None) -> Self:
        kind = covariance_type or "diag"
        model_of(tensors, kind)
        size = tensors["weights"].shape[1] if "weights" in tensors else 1
        model = cls(len(tensors["startprob"]), epsilon=float("inf"), covariance_type=kind, n_mix=size)
        model._keep(tensors)
        return model

    def _read(self, X: Any, lengths: ArrayLike | None) -> Sequences:
        known = np.shape(cast("Any", self).means_)[-1] if hasattr(self, "means_") else None
        return read_points(X, lengths, known)

    def _emissions(self) -> str:
        mixed = f"mixtures of {self.n_mix} " if self.n_mix > 1 else ""
        return f"{mixed}{self.covariance_type} Gaussians"

    def _covariance_type(self) -> str | None:
        return self.covariance_type
