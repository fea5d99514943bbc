"""Guessing the model works where an answer is a bare product of ciphertexts, and fails on ours."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from discreet.audit.guess import agreements, hold_model_bare, paillier_agreements
from discreet.audit.wiretap import judge_masks
from discreet.crypto.layout import Matrix
from discreet.crypto.paillier import SecretKey
from discreet.protocols.scores import Scores, ask, score
from discreet.protocols.step import run_pair
from discreet.randomness import seeded

AGREED = Scores(Matrix(6, 12, 5), largest=500, heaviest=900, share_bits=32)


@pytest.fixture(scope="module")
def models():
    """A public collection of eight models, each near to the first: one of them is the server's."""
    generator = np.random.default_rng(5)
    first = generator.integers(-890, 890, (12, 5))
    return [first, *(first + (np.arange(60).reshape(12, 5) == place) for place in range(7))]


@pytest.fixture(scope="module")
def features():
    return np.random.default_rng(6).integers(-500, 501, (6, 12))


def heard(role, features, seed, agreed=AGREED):
    mine, theirs, transcript = run_pair(
        ask(features, agreed, seeded(seed)), role(agreed, seeded(seed + 1)), record=True
    )
    query, answer = (record.arrays for record in transcript)
    return query, answer, (mine + theirs) & np.uint64(2**32 - 1)


@pytest.mark.parametrize("true", [0, 4])
def test_a_bare_answer_names_the_model_and_is_right_all_the_same(models, features, true):
    query, answer, opened = heard(
        lambda agreed, bits: hold_model_bare(models[true], agreed, bits), features, 10 * true
    )
    assert np.array_equal(opened, (features @ models[true]).astype(np.uint64) & np.uint64(2**32 - 1))
    found = agreements(query, answer, AGREED, models)
    assert found[true] == 1.0
    assert max(share for index, share in enumerate(found) if index != true) < 0.9


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("true", [0, 4])
def test_our_answer_agrees_with_no_guess_not_even_the_right_one(models, features, true, exact):
    agreed = replace(AGREED, exact=exact)
    query, answer, opened = heard(partial(score, models[true]), features, 10 * true, agreed)
    off = opened - (features @ models[true]).astype(np.uint64) + np.uint64(1) & np.uint64(2**32 - 1)
    assert (off == 1).all() if exact else (off <= 2).all()
    assert max(agreements(query, answer, agreed, models)) == 0.0


def test_what_is_left_of_our_answer_after_the_right_guess_is_uniform(models, features):
    """The same test as on the bare answer, made statistical: all bits of the difference are balanced."""
    for agreed in (AGREED, replace(AGREED, exact=False)):
        rests = []
        for seed in range(3):
            query, answer, _ = heard(partial(score, models[0]), features, 100 + seed, agreed)
            rests.append(_rest(query, answer, models[0], agreed))
        finding = judge_masks(np.concatenate(rests), bits=32)
        assert not finding.leaks(1e-9), finding


def _rest(query, answer, guess, agreed):
    from discreet.audit.guess import _products
    from discreet.crypto.lattice import narrow
    from discreet.protocols.scores import prepared

    expected = narrow(agreed.setting, _products(prepared(guess, agreed), agreed, query)[:, 0])
    low = [np.ascontiguousarray(part[..., :4]).view("<u4")[..., 0] for part in (answer["mask"], expected)]
    return (low[0] - low[1]).ravel().astype("<u4")


def test_paillier_products_name_the_model_unless_they_are_sealed(models, features):
    bits = seeded(3)
    key = SecretKey.generate(bits, 2048)
    sent = key.public.encrypt([int(x) for x in features[0]], bits, largest=500)
    bare = sent.weighted(models[2], 12 * 900)
    assert paillier_agreements(sent, bare.numbers, models, 12 * 900)[2] == 1.0
    assert paillier_agreements(sent, bare.numbers, models, 12 * 900)[0] < 1.0
    sealed = bare.sealed(bits)
    assert paillier_agreements(sent, sealed.numbers, models, 12 * 900) == [0.0] * len(models)
    assert key.decrypt(sealed) == [int(x) for x in features[0] @ models[2]]
