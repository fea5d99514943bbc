"""Widths derived from declared ranges hold every number, and the stated error holds for every recording."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ask.small import recording, vocabulary

from discreet.ask.grid import features_of, jobs, verdict_of
from discreet.ask.keyword import Prepared
from discreet.ask.model import Model, trellis_of
from discreet.ask.offer import Batch
from discreet.ask.precision import Precision, Ranges
from discreet.errors import ParameterError
from discreet.protocols.recursion import check_range, plain
from discreet.protocols.stages import mixed_score

SHAPES = [
    {"kind": "full", "states": 3, "dimension": 5},
    {"kind": "diag", "states": 2, "dimension": 3, "mixtures": 3, "topology": "full"},
    {"symbols": 6},
    {"symbols": 6, "states": 5, "topology": "full"},
]


def fixed_totals(model, features):
    """The totals of all words as the protocol computes them, in nats; and every score of every component."""
    offer, wide = model.offer, model.offer.precision
    ready = Prepared(model)
    if offer.kind == "symbols":
        words = ready.columns(offer)[features].astype(np.int64)
        spare = 64 - wide.score_width
        scores = (words << spare) >> spare
    else:
        job = next(jobs(offer, Batch(1, len(features), len(features))))
        exact = features_of(features, offer) @ ready._weights + ready.constants
        assert np.abs(exact).max() < 2 ** (job.share_bits - 1)
        scores = (exact >> wide.drop) - 1  # one unit less, as shares may give
    assert np.abs(scores).max() < 2 ** (wide.score_width - 1)
    plan = verdict_of(offer, Batch(1, len(features), len(features)))
    joined = scores.reshape(len(features), offer.count, offer.states, offer.mixtures)
    joined = plan.narrow.plain(joined, 3) if offer.mixtures > 1 else joined[..., 0]
    assert np.abs(joined).max() < 2 ** (wide.score_width - 1)
    trellis = trellis_of(offer, len(features))
    return plain(trellis, model.chains, joined) / 2**wide.fraction


def corners(words, frames, seed):
    """Features that no front makes of speech: corners of the box, or any symbols."""
    random = np.random.default_rng(seed)
    if words.symbols:
        return random.integers(0, words.symbols, frames)
    return random.choice([-1.0, 1.0], (frames, words.dimension))


@pytest.mark.parametrize("method", ["forward", "viterbi"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_stated_error_bounds_every_total_even_at_the_corners_of_the_range(shape, method):
    words = vocabulary(**shape)
    model = Model.of(words, method=method, longest=40)
    bound = replace(model.offer, longest=40).precision.error
    worst = 0.0
    for seed in range(6):
        for features in (recording(words, 40, seed, margin=0), corners(words, 40, seed)):
            off = np.abs(fixed_totals(model, features) - words.scores(features, method))
            worst = max(worst, float(off.max()))
    assert worst <= bound
    assert worst > 0


def test_the_typical_error_is_about_what_recordings_show():
    words = vocabulary(dimension=8, states=4)
    model = Model.of(words, method="viterbi", longest=60)
    off = [
        np.abs(fixed_totals(model, one) - words.scores(one, "viterbi")).mean()
        for one in (recording(words, 60, seed) for seed in range(8))
    ]
    assert np.mean(off) < 4 * model.offer.precision.typical + 60 * 2 * 2.0**-8


@given(
    st.sampled_from(["full", "diag", "symbols"]),
    st.integers(1, 40),
    st.integers(1, 12),
    st.integers(1, 8),
    st.integers(1, 1000),
    st.integers(-2, 14),
    st.integers(-2, 6),
    st.integers(0, 6),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_widths_hold_what_the_docstring_bounds(kind, size, states, mixtures, frames, low, high, least, best):
    ranges = Ranges(heaviest=low, total=low, constant=high, low=low, high=high, least=least)
    try:
        wide = Precision(kind, size, states, mixtures, frames, states, ranges, maximum=best)
    except ParameterError:
        return
    spread = frames * (wide.low + wide.high) + (frames + 1) * 2.0**least
    assert wide.never >= spread + 10
    assert spread + 2 * wide.never < 2.0 ** (wide.width - 1 - wide.fraction)
    assert wide.low + wide.high < 2.0 ** (wide.score_width - 1 - wide.fraction)
    assert wide.score_width <= wide.width
    if kind != "symbols":
        reach = 2.0**ranges.total + wide.terms * 2.0**-wide.weight_bits + 2.0**ranges.constant
        assert reach < 2.0 ** (wide.share_bits - 1 - wide.feature_bits - wide.weight_bits)
        assert wide.share_bits <= 48
        assert wide.drop >= 0


def test_ranges_too_wide_for_the_shares_are_refused():
    ranges = Ranges(heaviest=10, total=40, constant=3, low=40, high=3, least=3)
    with pytest.raises(ParameterError, match="too little room"):
        Precision("full", 39, 5, 1, 100, 5, ranges)
    with pytest.raises(ParameterError, match="rounded too much"):
        Precision("full", 39, 5, 1, 100, 5, replace(ranges, total=26, low=26))
    with pytest.raises(ParameterError, match="exponents"):
        replace(ranges, low=99)
    with pytest.raises(ParameterError):
        Precision("full", 39, 0, 1, 100, 5, ranges)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("topology", ["left-right", "full"])
def test_the_recursion_proves_the_widths_with_the_weights_themselves(shape, topology):
    words = vocabulary(**(shape | {"topology": topology}))
    for longest in (1, 7, 300):
        model = Model.of(words, longest=longest, topology="full")
        check_range(trellis_of(model.offer, longest), model.chains)


def test_components_are_joined_in_words_of_one_score():
    words = vocabulary(mixtures=4)
    plan = verdict_of(Model.of(words, longest=20).offer, Batch(1, 20, 20))
    assert plan.mixing is mixed_score(plan.narrow, 4)
    assert plan.narrow.width < plan.trellis.width
