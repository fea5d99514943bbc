"""Features, blocks of frames and shares lie where both parties expect them."""

import numpy as np
import pytest
from tests.ask.small import vocabulary

from discreet.ask import Model
from discreet.ask.grid import block_of, dropped, features_of, fixed, frames_of, jobs, laid, verdict_of
from discreet.ask.offer import Batch
from discreet.randomness import seeded


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_a_form_of_features_is_the_density(kind):
    words = vocabulary(kind=kind, dimension=3)
    model = Model.of(words, longest=9)
    points = np.random.default_rng(0).uniform(-1, 1, (9, 3))
    features = features_of(points, model.offer) / 2.0**model.offer.precision.feature_bits
    assert features.shape == (9, model.offer.precision.terms)
    forms = features @ model.weights + model.constants
    exact = np.stack([one.emission.log_density_of(points).T for one in words.models], axis=1)
    assert np.allclose(forms.reshape(exact.shape), exact, atol=1e-2)
    assert np.abs(features_of(points * 1e6, model.offer)).max() == 2**model.offer.precision.feature_bits


def test_blocks_are_of_one_size_and_cover_all_frames():
    offer = Model.of(vocabulary(), longest=500).offer
    for recordings, frames in ((1, 1), (1, 128), (1, 129), (7, 50), (3, 500)):
        batch = Batch(recordings, frames, 1)
        made = list(jobs(offer, batch))
        assert len(set(made)) == 1
        assert block_of(batch) <= 128
        assert 0 <= len(made) * block_of(batch) - batch.rows < len(made)


def test_scores_are_laid_out_by_step_then_recording_and_word():
    offer = Model.of(vocabulary(words=2, states=3, mixtures=2), longest=4).offer
    batch = Batch(2, 4, 4)
    words = np.arange(9 * 12, dtype=np.uint64).reshape(9, 12)  # one frame more than there is
    found = laid(words, offer, batch)
    assert found.shape == verdict_of(offer, batch).shape
    assert found[3, 2].tolist() == words[7, :6].tolist()  # step 3 of the second recording, first word
    assert found[1, 1].tolist() == words[1, 6:].tolist()


def test_recordings_are_filled_up_with_zeros():
    rows = frames_of([np.ones((2, 3)), np.ones((4, 3))], Batch(2, 4, 1))
    assert rows.sum(axis=1).tolist() == [3, 3, 0, 0, 3, 3, 3, 3]
    assert frames_of([np.array([5, 6])], Batch(1, 3, 1)).tolist() == [5, 6, 0]


def test_dropping_bits_of_both_shares_is_off_by_one_unit_at_most():
    offer = Model.of(vocabulary(), longest=20).offer
    wide = offer.precision
    reach = 2 ** (wide.share_bits - 8)
    scores = seeded(1).integers(-reach, reach, 2000)
    mask = np.uint64(2**wide.share_bits - 1)
    mine = seeded(2).integers(0, 2**wide.share_bits, 2000).view(np.uint64)
    theirs = (scores.view(np.uint64) - mine) & mask
    joined = (dropped(mine, offer) + dropped(theirs, offer)) & np.uint64(2**wide.score_width - 1)
    off = ((scores >> wide.drop).view(np.uint64) - joined) & np.uint64(2**wide.score_width - 1)
    assert set(off.tolist()) == {0, 1}
    assert fixed(np.array([0.5, -0.25]), 3).tolist() == [4, -2]
