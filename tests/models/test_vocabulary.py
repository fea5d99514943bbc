"""Vocabularies: the likeliest word, equal to a slow recursion; sizes, damage, and reading back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.errors import ParameterError, TooLargeError
from discreet.models.blend import Blend
from discreet.models.categorical import Categorical
from discreet.models.chain import Chain
from discreet.models.gaussian import Gaussian
from discreet.models.hmm import HMM
from discreet.models.vocabulary import Vocabulary


def chain(draw: np.random.Generator, states: int, forward: bool) -> Chain:
    if not forward:
        return Chain(draw.dirichlet(np.ones(states)), draw.dirichlet(np.ones(states), states))
    stay = draw.uniform(0.3, 0.9, states)
    stay[-1] = 1
    return Chain(np.eye(states)[0], np.diag(stay) + np.diag(1 - stay[:-1], 1))


def gaussian(draw: np.random.Generator, states: int, dimension: int, kind: Any) -> Gaussian:
    means = draw.uniform(-0.7, 0.7, (states, dimension))
    roots = draw.normal(0, 0.1, (states, dimension, dimension)) + 0.3 * np.eye(dimension)
    full = roots @ roots.swapaxes(1, 2)
    covariances = {
        "full": full,
        "diag": np.einsum("kii->ki", full).copy(),
        "tied": full.mean(axis=0),
        "spherical": np.einsum("kii->k", full) / dimension,
    }[kind]
    return Gaussian.of(means, covariances, kind)


def vocabulary(
    words: int = 3,
    states: int = 4,
    dimension: int = 3,
    kind: str = "full",
    forward: bool = True,
    size: int = 1,
) -> Vocabulary:
    """Random models; kind "symbols" has ``dimension`` symbols, and ``size`` above 1 makes mixtures."""
    draw = np.random.default_rng(words + states)
    models = []
    for _ in range(words):
        emission: Any
        if kind == "symbols":
            emission = Categorical(draw.dirichlet(np.ones(dimension), states))
        elif size > 1:
            components = gaussian(draw, states * size, dimension, kind)
            emission = Blend(draw.dirichlet(np.ones(size), states), components)
        else:
            emission = gaussian(draw, states, dimension, kind)
        models.append(HMM(chain(draw, states, forward), emission))
    return Vocabulary(tuple(f"word {index}" for index in range(words)), tuple(models), {"any": "front"})


def slow(model: HMM, features: np.ndarray, join: Any) -> float:
    """The recursion in logarithms, state by state."""
    with np.errstate(divide="ignore"):
        start, step = np.log(model.chain.start), np.log(model.chain.transition)
    densities = model.emission.log_density_of(features.reshape(len(features), -1)).T
    now = start + densities[0]
    for density in densities[1:]:
        now = np.array([join(now + step[:, state]) for state in range(len(now))]) + density
    return float(join(now))


FORMS: dict[str, dict[str, Any]] = {
    "full": {},
    "full, any step": {"forward": False},
    "diagonal": {"kind": "diag", "dimension": 13},
    "tied": {"kind": "tied"},
    "spherical": {"kind": "spherical"},
    "mixtures": {"size": 3},
    "mixtures, diagonal": {"size": 2, "kind": "diag"},
    "symbols": {"kind": "symbols", "dimension": 7},
    "one state": {"states": 1},
    "twenty words": {"words": 20, "states": 8},
}


def features_for(made: Vocabulary, frames: int) -> np.ndarray:
    draw = np.random.default_rng(frames)
    return (
        draw.integers(0, made.symbols, frames)
        if made.symbols
        else draw.uniform(-1, 1, (frames, made.dimension))
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("frames", [1, 10, 60])
def test_scores_are_those_of_a_slow_recursion(form: str, frames: int) -> None:
    made = vocabulary(**FORMS[form])
    features = features_for(made, frames)
    logsum = lambda values: np.logaddexp.reduce(values)  # noqa: E731
    for method, join in (("forward", logsum), ("viterbi", np.max)):
        expected = [slow(model, features, join) for model in made.models]
        np.testing.assert_allclose(made.scores(features, method), expected, rtol=1e-9, atol=1e-9)  # type: ignore[arg-type]
    assert made.predict(features) == made.words[int(np.argmax(made.scores(features)))]


@pytest.mark.parametrize("form", FORMS)
def test_a_vocabulary_is_read_back_bit_for_bit(form: str) -> None:
    made = vocabulary(**FORMS[form])
    again = Vocabulary.of(made.tensors(), made.to_dict())
    assert again.words == made.words and again.front == made.front
    assert (again.topology, again.states, again.dimension) == (made.topology, made.states, made.dimension)
    assert (again.mixtures, again.symbols, again.emissions) == (made.mixtures, made.symbols, made.emissions)
    for name, tensor in made.tensors().items():
        np.testing.assert_array_equal(again.tensors()[name], tensor)
    features = features_for(made, 30)
    np.testing.assert_array_equal(again.scores(features), made.scores(features))


def test_many_recordings_get_the_scores_of_each() -> None:
    made = vocabulary(5)
    recordings = [features_for(made, frames) for frames in (3, 200, 17, 17, 1)]
    together = made.scores_of(recordings)
    alone = np.array([made.scores(one) for one in recordings])
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    assert made.scores_of([]).shape == (0, 5)


def test_topologies_are_told_apart() -> None:
    assert vocabulary().topology == "left-right"
    assert vocabulary(forward=False).topology == "full"
    skipping = Chain(np.eye(3)[0], np.array([[0.5, 0.3, 0.2], [0, 0.5, 0.5], [0, 0, 1.0]]))
    emission = Categorical(np.full((3, 2), 0.5))
    assert Vocabulary(("a",), (HMM(skipping, emission),)).topology == "full"


def test_what_does_not_fit_together_is_refused() -> None:
    made, other = vocabulary(2), vocabulary(2, states=3)
    for words, models in (
        ((), ()),
        (("a",), made.models),
        (("a", "a"), made.models),
        (("a", "b\n"), made.models),
        (("a", ""), made.models),
        (("a", "b"), (made.models[0], other.models[0])),
        (("a", "b"), (made.models[0], vocabulary(2, kind="diag").models[0])),
    ):
        with pytest.raises(ParameterError):
            Vocabulary(words, models)


@pytest.mark.parametrize(
    "features",
    [np.zeros((4, 2)), np.zeros(3), np.zeros((0, 3)), np.full((4, 3), np.nan), np.full((4, 3), np.inf)],
    ids=["narrow", "one line", "empty", "no number", "infinite"],
)
def test_features_that_do_not_fit_are_refused(features: np.ndarray) -> None:
    with pytest.raises(ParameterError):
        vocabulary().scores(features)


def test_symbols_that_do_not_exist_are_refused() -> None:
    made = vocabulary(kind="symbols", dimension=4)
    for symbols in (np.array([0, 4]), np.array([-1]), np.array([0.5]), np.zeros(0, dtype=int)):
        with pytest.raises(ParameterError):
            made.scores(symbols)
    with pytest.raises(ParameterError, match="no such method"):
        made.scores(np.array([0]), "sideways")  # type: ignore[arg-type]


def test_strange_tensors_are_refused() -> None:
    made = vocabulary()
    tensors, plain = made.tensors(), made.to_dict()
    for strange in (plain | {"more": 1}, plain | {"words": ["a"]}, plain | {"words": 3}):
        with pytest.raises(ParameterError):
            Vocabulary.of(tensors, strange)
    for name, tensor in (("startprob", tensors["startprob"] + 0.1), ("covars", -tensors["covars"])):
        with pytest.raises(ParameterError):
            Vocabulary.of(tensors | {name: tensor}, plain)
    with pytest.raises(ParameterError, match="no model has"):
        Vocabulary.of(tensors | {"likelihoods": tensors["means"]}, plain)
    wide = {
        "means": np.broadcast_to(np.zeros(1), (3, 4, 20_000)),
        "covars": np.broadcast_to(np.zeros(1), (3, 4, 20_000, 20_000)),
    }
    with pytest.raises(TooLargeError):
        Vocabulary.of(tensors | wide, plain)
    with pytest.raises(ParameterError, match="far too large"):
        Vocabulary.of(tensors | {"means": tensors["means"] + 1e300}, plain)
