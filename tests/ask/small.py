"""Small vocabularies and recordings for the tests of this room."""

from __future__ import annotations

import numpy as np

from discreet.ask.keyword import answer, ask, prepare_model
from discreet.ask.model import Model
from discreet.models.blend import Blend
from discreet.models.categorical import Categorical
from discreet.models.chain import Chain
from discreet.models.gaussian import Gaussian
from discreet.models.hmm import HMM
from discreet.models.vocabulary import Vocabulary
from discreet.protocols.step import run_parties
from discreet.randomness import secure

__all__ = ["recording", "run", "vocabulary"]

NAMES = (
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    *tuple(f"word {number}" for number in range(11, 31)),
)


def chain(random, states, topology):
    if topology == "full":
        return Chain(random.dirichlet(np.ones(states)), random.dirichlet(np.ones(states), states))
    stay = random.uniform(0.6, 0.95, states)
    stay[-1] = 1
    transition = np.diag(stay) + np.diag(1 - stay[:-1], 1)
    return Chain(np.eye(states)[0], transition)


def spread(random, size, dimension, kind):
    """Covariances of components that have about a quarter of the range."""
    if kind == "diag":
        return random.uniform(0.03, 0.1, (size, dimension))
    turns = random.normal(size=(size, dimension, dimension)) * 0.1
    return 0.03 * np.eye(dimension) + np.einsum("kij,klj->kil", turns, turns) / dimension


def vocabulary(
    words=3, states=3, dimension=4, kind="full", topology="left-right", mixtures=1, symbols=0, seed=0
):
    random = np.random.default_rng(seed)
    models = []
    for _ in range(words):
        if symbols:
            emission = Categorical(random.dirichlet(np.full(symbols, 0.4), states))
        else:
            size = states * mixtures
            means = random.uniform(-0.6, 0.6, (size, dimension))
            gaussian = Gaussian.of(means, spread(random, size, dimension, kind), kind)
            weights = random.dirichlet(np.ones(mixtures), states)
            emission = Blend(weights, gaussian) if mixtures > 1 else gaussian
        models.append(HMM(chain(random, states, topology), emission))
    return Vocabulary(NAMES[:words], tuple(models))


def recording(words, frames, seed=0, margin=1.0):
    """Features of one of the words, where it is clear to the plain models which one they say."""
    random = np.random.default_rng(seed)
    while True:
        model = words.models[random.integers(len(words.models))]
        rows, _ = model.sample(np.array([frames]), random)
        features = rows[:, 0] if words.symbols else np.clip(rows, -1, 1)
        first, second = np.sort(words.scores(features))[:-3:-1]
        if first - second > margin:
            return features


def run(words, recordings, *, bits=None, record=True, question=None, prepared=None, **settings):
    """Both roles in memory: the outputs by role, in the order of the recordings, and the transcript."""
    asked = {name: settings.pop(name) for name in ("opened", "ahead", "together") if name in settings}
    lengths = [len(one) for one in recordings]
    settings.setdefault("longest", max(lengths))
    model = Model.of(words, **settings)
    question = model.offer.question(lengths, **asked)
    order = model.offer.order(lengths)
    draw = bits or (lambda role: secure())
    agreed = question.to_dict()
    roles = {
        "data": ask([recordings[place] for place in order], agreed, draw("data")),
        "model": answer(prepare_model(model), agreed, draw("model")),
    }
    outputs, transcript = run_parties(roles, record=record)
    for role, found in outputs.items():
        if found is not None:
            outputs[role] = [found[order.index(place)] for place in range(len(order))]
    return outputs, transcript, question
