"""The card of a vocabulary shows sizes and powers of two, and nothing else of the models."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.ask.small import vocabulary

from discreet.ask import Model, Offer, Question
from discreet.ask.offer import Batch
from discreet.ask.precision import Ranges
from discreet.errors import ParameterError
from discreet.models.categorical import Categorical
from discreet.models.chain import Chain
from discreet.models.hmm import HMM
from discreet.models.vocabulary import Vocabulary


def test_an_offer_is_plain_data_and_comes_back_from_it():
    offer = Model.of(vocabulary(mixtures=2), longest=80, padding=10).offer
    plain = json.loads(json.dumps(offer.to_dict()))
    assert Offer.of(plain) == offer
    assert Offer.of(plain).digest() == offer.digest()
    question = offer.question([11, 30, 12, 80], opened="both", ahead=True)
    assert Question.of(json.loads(json.dumps(question.to_dict()))) == question
    assert question.plan.agreed == question.to_dict()


def test_models_that_differ_within_the_declared_powers_of_two_have_the_same_card_but_for_the_salted_digest():
    words = vocabulary(words=3)
    turned = Vocabulary(words.words, words.models[::-1])
    one, same, other = Model.of(words).offer, Model.of(words).offer, Model.of(turned).offer
    assert one.model != same.model
    assert replace(one, model="") == replace(same, model="") == replace(other, model="")
    assert len({Model.of(words, longest=9).offer.model for _ in range(3)}) == 3


def test_the_digest_can_be_proved_with_the_salt():
    model = Model.of(vocabulary())
    assert Model.read(model.to_dict()).digest() == model.offer.model
    assert replace(model, salt=bytes(32)).digest() != model.offer.model
    assert replace(model, weights=model.weights + 1e-9).digest() != model.offer.model
    assert "3 words" in repr(model)


def test_lengths_are_padded_and_put_together_by_length():
    offer = Model.of(vocabulary(), longest=50, padding=20).offer
    assert [offer.padded(frames) for frames in (1, 20, 21, 41, 50)] == [20, 20, 40, 50, 50]
    question = offer.question([45, 3, 22, 19], together=2)
    assert offer.order([45, 3, 22, 19]) == [1, 3, 2, 0]
    assert question.batches == (Batch(2, 20, 1), Batch(2, 50, 21))
    assert question.recordings == 4
    assert question.batches[1].rows == 100
    with pytest.raises(ParameterError):
        offer.padded(51)


@pytest.mark.parametrize(
    "change",
    [
        {"count": 0},
        {"count": True},
        {"count": 10**9},
        {"states": 65},
        {"words": ("a",)},
        {"words": ("a", "a", "b")},
        {"label_bytes": 8},
        {"words": (), "label_bytes": 0},
        {"kind": "none"},
        {"symbols": 3},
        {"topology": "ring"},
        {"method": "best"},
        {"padding": 10**3},
        {"longest": 10**6},
        {"dimension": "3"},
        {"mixtures": 2.0},
        {
            "states": 64,
            "mixtures": 64,
            "count": 3,
            "words": (),
            "label_bytes": 8,
            "longest": 4000,
            "padding": 1,
            "kind": 7,
        },
    ],
    ids=str,
)
def test_offers_of_strangers_are_refused_if_they_make_no_sense(change):
    plain = Model.of(vocabulary()).offer.to_dict() | change
    with pytest.raises(ParameterError):
        Offer.of(plain)


@pytest.mark.parametrize("drop", ["words", "ranges", "front", "count"])
def test_offers_with_missing_or_other_parts_are_refused(drop):
    plain = Model.of(vocabulary()).offer.to_dict()
    del plain[drop]
    with pytest.raises(ParameterError):
        Offer.of(plain)
    with pytest.raises(ParameterError):
        Offer.of(Model.of(vocabulary()).offer.to_dict() | {drop: 7, "else": 1})


def test_questions_beyond_the_offer_are_refused():
    offer = Model.of(vocabulary(), longest=10).offer
    for batches in ((), (Batch(1, 11, 1),), (Batch(5000, 5, 1),)):
        with pytest.raises(ParameterError):
            Question(offer, batches)
    with pytest.raises(ParameterError):
        Question(offer, (Batch(1, 5, 5),), opened="everybody")
    for wrong in ((0, 1, 1), (1, 2, 3), (1, 2, 0)):
        with pytest.raises(ParameterError):
            Batch(*wrong)


def test_a_topology_that_the_models_do_not_have_is_refused():
    words = vocabulary(topology="full")
    with pytest.raises(ParameterError, match="topology"):
        Model.of(words, topology="left-right")
    assert Model.of(vocabulary(), topology="full").offer.arcs == tuple(
        (i, j) for j in range(3) for i in range(3)
    )


def test_ranges_bound_every_score_at_every_corner():
    words = vocabulary(dimension=3, mixtures=2)
    offer = Model.of(words).offer
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    for model in words.models:
        scores = model.emission.log_density_of(corners)
        assert scores.min() >= -(2.0**offer.ranges.low)
        at_means = model.emission.log_density_of(model.emission.components.means)
        assert at_means.max() <= 2.0**offer.ranges.high
    assert Ranges.of(offer.ranges.to_dict()) == offer.ranges


def test_impossible_symbols_and_weights_of_zero_keep_their_meaning():
    """A symbol that a state never emits makes a word lose to every word that can be."""
    sure = HMM(Chain(np.ones(1), np.ones((1, 1))), Categorical(np.array([[1.0, 0.0, 0.0]])))
    unsure = HMM(Chain(np.ones(1), np.ones((1, 1))), Categorical(np.array([[1e-6, 1e-6, 1 - 2e-6]])))
    model = Model.of(Vocabulary(("sure", "unsure"), (sure, unsure)), longest=100)
    assert np.isfinite(model.weights).all()
    assert -model.weights.min() > 100 * 13.9


def test_impossible_steps_that_add_up_are_refused_with_a_remedy_that_helps():
    """The second state can be entered from the first alone, which can be kept no longer than a step."""
    step = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    emission = Categorical(np.full((3, 2), 0.5))

    def words(some):
        turned = np.where(step == 0, np.triu(np.tri(3, k=1)) * some, step)
        return Vocabulary(
            ("a",), (HMM(Chain(np.eye(3)[0], turned / turned.sum(1, keepdims=True)), emission),)
        )

    with pytest.raises(ParameterError, match="add up") as refused:
        Model.of(words(0.0), longest=40)
    assert "1e-6" in str(refused.value)
    assert Model.of(words(1e-6), longest=40).offer.topology == "left-right"
