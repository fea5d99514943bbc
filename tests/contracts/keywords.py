"""Questions for a word, small, for the contracts: points ahead and not, symbols, lengths hidden by padding.

Models of one case have the same offer; in the first two choices the same word is spoken, by other features to
other models.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.ask.keyword import answer, ask, prepare_model
from discreet.ask.model import Model
from discreet.models.categorical import Categorical
from discreet.models.chain import Chain
from discreet.models.gaussian import Gaussian
from discreet.models.hmm import HMM
from discreet.models.vocabulary import Vocabulary

__all__ = ["keywords"]

CHAIN = Chain(np.array([1.0, 0.0]), np.array([[0.6, 0.4], [0.0, 1.0]]))


def points(*means):
    """Words that lie at these means, in this order."""
    spread = np.full((2, 1), 0.1)
    models = (HMM(CHAIN, Gaussian.of(np.array([[mean], [mean]]), spread, "diag")) for mean in means)
    return Vocabulary(("left", "middle", "right"), tuple(models))


def symbols(*favourites):
    """Words that favour a symbol each."""
    tables = (np.full((2, 4), 0.1) + 0.6 * (np.arange(4) == favourite) for favourite in favourites)
    return Vocabulary(("left", "middle", "right"), tuple(HMM(CHAIN, Categorical(table)) for table in tables))


def question(words, recordings, **settings):
    """The plan that all choices share, and private inputs for each."""
    models = [Model.of(one, longest=4, padding=4) for one in words]
    offer = replace(models[0].offer, model="")
    assert all(replace(model.offer, model="") == offer for model in models)
    models = [replace(model, offer=offer) for model in models]
    asked = offer.question([4], **settings)
    inputs = tuple({"model": model, "data": [one]} for model, one in zip(models, recordings, strict=True))
    return asked, inputs


def keywords(case):
    """Lines for the registry; ``case`` is its class."""
    lines = {
        "keyword": (
            [points(-0.5, 0.0, 0.5), points(-0.5, 0.5, 0.0), points(0.5, 0.0, -0.5)],
            [np.full((3, 1), -0.45), np.full((4, 1), -0.6), np.full((1, 1), -0.5)],
            ["left", "left", "right"],
            {},
        ),
        "keyword ahead": (
            [points(-0.5, 0.0, 0.5), points(-0.5, 0.5, 0.0), points(0.5, 0.0, -0.5)],
            [np.full((3, 1), -0.45), np.full((4, 1), -0.6), np.full((1, 1), -0.5)],
            ["left", "left", "right"],
            {"ahead": True, "opened": "both"},
        ),
        "keyword of symbols": (
            [symbols(0, 1, 2), symbols(0, 2, 1), symbols(2, 1, 0)],
            [np.array([0, 0, 1, 0]), np.array([0, 0, 0]), np.array([0])],
            ["left", "left", "right"],
            {},
        ),
    }
    return {name: _line(case, *parts) for name, parts in lines.items()}


def _line(case, words, recordings, spoken, settings):
    asked, inputs = question(words, recordings, **settings)
    inputs = tuple(dict(private, spoken=word) for private, word in zip(inputs, spoken, strict=True))
    opened = settings.get("opened", "data")
    return case(
        asked.plan,
        {
            "data": lambda private, agreed, bits: ask(private, agreed, bits),
            "model": lambda private, agreed, bits: answer(prepare_model(private), agreed, bits),
        },
        inputs,
        lambda private, out: all(
            out[role] == ([private["spoken"]] if opened in (role, "both") else None)
            for role in ("data", "model")
        ),
    )
