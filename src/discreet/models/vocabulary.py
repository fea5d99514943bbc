"""Word models: one hidden Markov model a word, all of one size, and how recordings become their features.

A recording says the word whose model makes its features most likely,

    word = argmax_w log p(x_1 ... x_T | model w),

every word counting for as likely as any other beforehand. The sum over paths (`"forward"`) or the best path
(`"viterbi"`) may be asked for; see `discreet.models.chain`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from discreet.errors import ParameterError, TooLargeError
from discreet.models.blend import Blend
from discreet.models.categorical import Categorical
from discreet.models.parameters import model_of, tensors_of
from discreet.models.sequences import frames_for, pack_sequences

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.models.hmm import HMM, View

__all__ = ["Method", "Vocabulary", "check_words"]

Method = Literal["forward", "viterbi"]

_LARGEST = 2**28  # numbers times coordinates: what checking covariances costs
_LONGEST_WORD = 100
_FARTHEST = 1e9  # of unit coordinates that are all in [-1, 1]
_TENSORS = {"startprob", "transmat", "means", "covars", "weights", "emissionprob"}


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words, a model for each, and the plain settings of the front that makes their features.

    Features are rows (T, d) of numbers in [-1, 1], or symbols (T,). ``front`` is `Front.to_dict`: public,
    like words and sizes.
    """

    words: tuple[str, ...]
    models: tuple[HMM, ...]
    front: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        check_words(self.words)
        if len(self.words) != len(self.models):
            raise ParameterError(
                "there is not one model a word",
                got=f"{len(self.words)} words and {len(self.models)} models",
                wanted="as many",
            )
        forms = [_form(model) for model in self.models]
        if any(form != forms[0] for form in forms):
            raise ParameterError(
                "the models of a vocabulary have other sizes or emissions", wanted="the same"
            )

    def __repr__(self) -> str:
        return f"Vocabulary({len(self.words)} words, {self.states} states, {self.emissions})"

    @property
    def states(self) -> int:
        """States of each model."""
        return self.models[0].chain.states

    @property
    def symbols(self) -> int:
        """How many symbols a row may be; 0 where rows are points."""
        emission: Any = self.models[0].emission
        return emission.symbols if isinstance(emission, Categorical) else 0

    @property
    def dimension(self) -> int:
        """Numbers in a row; 1 for symbols."""
        emission: Any = self.models[0].emission
        if isinstance(emission, Categorical):
            return 1
        return emission.components.dimension if isinstance(emission, Blend) else emission.dimension

    @property
    def mixtures(self) -> int:
        """Gaussians of each state; 1 where there are no mixtures."""
        emission: Any = self.models[0].emission
        return emission.weights.shape[1] if isinstance(emission, Blend) else 1

    @property
    def covariance_type(self) -> str | None:
        """That of the Gaussians, or None for symbols."""
        emission: Any = self.models[0].emission
        if isinstance(emission, Categorical):
            return None
        if isinstance(emission, Blend):
            return "tied" if emission.tied else emission.components.kind
        return emission.kind

    @property
    def emissions(self) -> str:
        """What states emit, in words."""
        if self.symbols:
            return f"{self.symbols} symbols"
        mixed = f"mixtures of {self.mixtures} " if self.mixtures > 1 else ""
        return f"{mixed}{self.covariance_type} Gaussians of {self.dimension} numbers"

    @cached_property
    def topology(self) -> str:
        """Which steps are possible: `left-right` (start in the first state, stay or go on), else `full`."""
        chains = [model.chain for model in self.models]
        if all(
            not chain.start[1:].any()
            and not np.tril(chain.transition, -1).any()
            and not np.triu(chain.transition, 2).any()
            for chain in chains
        ):
            return "left-right"
        return "full"

    def scores(self, features: NDArray[Any], method: Method = "forward") -> NDArray[np.float64]:
        """The log-likelihood of one recording's features under each word's model, (words,)."""
        return self.scores_of([features], method)[0]

    def scores_of(
        self, recordings: Sequence[NDArray[Any]], method: Method = "forward"
    ) -> NDArray[np.float64]:
        """The same of several recordings, (recordings, words); minus infinity for what cannot be."""
        if method not in get_args(Method):
            raise ParameterError("there is no such method", got=method, wanted="'forward' or 'viterbi'")
        rows = [self._checked(features) for features in recordings]
        scores = np.empty((len(rows), len(self.words)))
        if not rows:
            return scores
        stacked, lengths = np.concatenate(rows), np.array([len(one) for one in rows], dtype=np.intp)
        for column, model in enumerate(self.models):
            for view in _views(model, stacked, lengths):
                found = model.score(view) if method == "forward" else model.decode(view)[0]
                scores[view.pack.sequences, column] = found
        return scores

    def predict(self, features: NDArray[Any], method: Method = "forward") -> str:
        """The most likely word; the first of equally likely ones."""
        return self.words[int(np.argmax(self.scores(features, method)))]

    def tensors(self) -> dict[str, NDArray[np.float64]]:
        """All parameters by hmmlearn's names, the words along a new first axis."""
        each = [tensors_of(model) for model in self.models]
        return {name: np.stack([tensors[name] for tensors in each]) for name in each[0]}

    def to_dict(self) -> dict[str, Any]:
        """What the tensors leave open, as plain data."""
        return {
            "words": list(self.words),
            "covariance_type": self.covariance_type,
            "front": dict(self.front),
        }

    @staticmethod
    def of(tensors: Mapping[str, NDArray[np.float64]], plain: Mapping[str, Any]) -> Vocabulary:
        """Read back `tensors` and `to_dict`, which may come from strangers: checked before they are used."""
        if set(plain) != {"words", "covariance_type", "front"}:
            raise ParameterError("this is not a vocabulary", wanted="words, covariance_type and front")
        if not set(tensors) <= _TENSORS:
            raise ParameterError(
                "the vocabulary has tensors that no model has", wanted=", ".join(sorted(_TENSORS))
            )
        words = plain["words"]
        lines = {tensor.shape[:1] for tensor in tensors.values()}
        if not isinstance(words, list) or lines != {(len(words),)}:
            raise ParameterError("the tensors do not fit the words", wanted="one line a word")
        _check_shapes(tensors, plain["covariance_type"])
        width = tensors["means"].shape[-1] if "means" in tensors else 1
        if sum(tensor.size for tensor in tensors.values()) * width > _LARGEST:
            raise TooLargeError("the vocabulary is too large", wanted=f"at most {_LARGEST} numbers to check")
        if any(np.abs(tensor).max() > _FARTHEST for tensor in tensors.values()):
            raise ParameterError(
                "the vocabulary holds numbers that are far too large", wanted=f"{_FARTHEST:g}"
            )
        models = (
            model_of({name: tensor[place] for name, tensor in tensors.items()}, plain["covariance_type"])
            for place in range(len(words))
        )
        return Vocabulary(tuple(words), tuple(models), dict(plain["front"]))

    def _checked(self, features: NDArray[Any]) -> NDArray[Any]:
        rows = np.asarray(features)
        if self.symbols:
            rows = rows[:, 0] if rows.ndim == 2 and rows.shape[1] == 1 else rows
            fits = rows.ndim == 1 and np.issubdtype(rows.dtype, np.integer) and len(rows)
            if not fits or rows.min() < 0 or rows.max() >= self.symbols:
                raise ParameterError(
                    "these are no symbols of the vocabulary",
                    wanted=f"whole numbers from 0 to {self.symbols - 1}",
                )
            return rows
        if rows.ndim != 2 or rows.shape[1] != self.dimension or not len(rows):
            raise ParameterError(
                "the features do not fit the vocabulary",
                wanted=f"(frames, {self.dimension}) with at least one frame",
            )
        if not np.isfinite(rows).all():
            raise ParameterError("the features are not finite numbers")
        return rows.astype(np.float64, copy=False)


def check_words(words: Sequence[Any]) -> None:
    """Refuse names of words that are none, or not told apart."""
    if not words:
        raise ParameterError("a vocabulary has no words", wanted="at least one")
    for word in words:
        if not isinstance(word, str) or not 0 < len(word) <= _LONGEST_WORD or not word.isprintable():
            raise ParameterError(
                "a word is not a name", got=word, wanted=f"printable text of 1 to {_LONGEST_WORD} letters"
            )
    if len(set(words)) < len(words):
        raise ParameterError("a word is there twice", wanted="names that differ")


def _check_shapes(tensors: Mapping[str, NDArray[np.float64]], kind: object) -> None:
    """Refuse tensors that do not belong together."""
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    head = shapes.get("startprob", ())
    wanted: dict[str, tuple[int, ...]] = {"startprob": head, "transmat": (*head, *head[1:])}
    if "means" in shapes:
        *_, width = shapes["means"] or (0,)
        inner = shapes["weights"][2:] if "weights" in shapes else ()
        wanted |= {"means": (*head, *inner, width), "covars": _covariances(kind, head, inner, width)}
        wanted |= {"weights": (*head, *inner)} if "weights" in shapes else {}
    else:
        wanted["emissionprob"] = (*head, *shapes.get("emissionprob", (0,))[-1:])
    fits = len(head) == 2 and shapes == wanted and all(min(shape) > 0 for shape in shapes.values())
    if not fits:
        raise ParameterError("the tensors of the vocabulary do not fit each other")


def _covariances(kind: object, head: tuple[int, ...], inner: tuple[int, ...], width: int) -> tuple[int, ...]:
    """The shape of covars; tied ones are a word's, or a state's where there are mixtures."""
    return {
        "full": (*head, *inner, width, width),
        "diag": (*head, *inner, width),
        "spherical": (*head, *inner),
        "tied": (*head[: 2 if inner else 1], width, width),
    }.get(str(kind), ())


def _form(model: HMM) -> tuple[Any, ...]:
    emission: Any = model.emission
    shapes = tuple((name, tensor.shape) for name, tensor in sorted(tensors_of(model).items()))
    inner = emission.components if isinstance(emission, Blend) else emission
    return shapes, type(emission), getattr(inner, "kind", None)


def _views(model: HMM, rows: NDArray[Any], lengths: NDArray[np.intp]) -> Iterable[View]:
    for pack in pack_sequences(lengths, frames_for(model.chain.states)):
        yield model.look(rows, pack)
