"""What an owner of recordings can do who does not follow the protocol: end the run, or ask about nonsense."""

import numpy as np
import pytest
from tests.ask.small import recording, run, vocabulary

from discreet.ask import Model, keyword
from discreet.ask.keyword import answer, ask, prepare_model
from discreet.errors import CipherError, ParameterError, ProtocolError, TooLargeError
from discreet.protocols import scores
from discreet.protocols.step import Receive, Send, run_parties
from discreet.randomness import secure


def parts(words, recordings, **asked):
    lengths = [len(one) for one in recordings]
    model = Model.of(words, longest=max(lengths))
    agreed = model.offer.question(lengths, **asked).to_dict()
    return ask(recordings, agreed, secure()), answer(prepare_model(model), agreed, secure())


def altered(steps, change):
    """The same role, with its messages changed on the way out."""
    answered = None
    while True:
        try:
            asked = steps.send(answered)
        except StopIteration as end:
            return end.value
        answered = yield change(asked) if isinstance(asked, Send) else asked


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_features_of_any_size_give_some_word_of_the_list_and_no_harm(monkeypatch, ahead, seed):
    """Integers all over the shares, which no recording has: sums wrap around, at both ends alike."""
    words = vocabulary(words=4)
    random = np.random.default_rng(seed)

    def anything(points, offer):
        half = 2 ** (offer.precision.share_bits - 1)
        return random.integers(-half, half, (len(points), offer.precision.terms))

    one = recording(words, 5)
    monkeypatch.setattr(keyword, "features_of", anything)
    monkeypatch.setattr(scores, "_checked", lambda values, largest: values)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        outputs, transcript, _ = run(words, [one], ahead=ahead)
    assert outputs["data"][0] in words.words
    assert outputs["model"] is None
    monkeypatch.undo()
    assert transcript.forms == run(words, [one], ahead=ahead)[1].forms


def test_points_beyond_the_declared_range_are_put_on_its_edge():
    words = vocabulary()
    far = recording(words, 6) * 1e9
    edge = np.clip(far, -1, 1)
    assert run(words, [far])[0]["data"] == [words.predict(edge)]


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((5, 3)),
        np.zeros(5),
        np.zeros((0, 4)),
        np.full((5, 4), np.nan),
        np.zeros((6, 4)),
        np.zeros((5, 4, 1)),
    ],
    ids=lambda wrong: str(wrong.shape),
)
def test_recordings_that_are_not_as_agreed_are_refused_before_anything_is_sent(wrong):
    words = vocabulary()
    data, _ = parts(words, [recording(words, 5)])
    agreed = Model.of(words, longest=9).offer.question([5]).to_dict()
    with pytest.raises(ParameterError):
        next(ask([wrong], agreed, secure()))
    with pytest.raises(ParameterError):
        next(ask([np.zeros((5, 4))] * 2, agreed, secure()))
    data.close()


@pytest.mark.parametrize(
    "wrong", [np.array([0, 9]), np.array([0, -1]), np.array([0.0, 1.0]), np.zeros((2, 2))], ids=str
)
def test_symbols_out_of_range_are_refused_before_anything_is_sent(wrong):
    agreed = Model.of(vocabulary(symbols=5), longest=9).offer.question([2]).to_dict()
    with pytest.raises(ParameterError) as refused:
        next(ask([wrong], agreed, secure()))
    assert "9" not in str(refused.value)


def test_residues_out_of_range_and_columns_that_do_not_fit_end_the_run():
    words = vocabulary()

    def residues(sent):
        if sent.name != "scores/query":
            return sent
        return Send(sent.name, dict(sent.arrays) | {"high": np.full_like(sent.arrays["high"], 255)})

    def columns(sent):
        if sent.name != "transfer/columns":
            return sent
        changed = np.array(sent.arrays["columns"])
        changed[:70] ^= 1
        return Send(sent.name, dict(sent.arrays) | {"columns": changed})

    for change, error in ((residues, CipherError), (columns, ProtocolError)):
        data, model = parts(words, [recording(words, 5)])
        with pytest.raises(error):
            run_parties({"data": altered(data, change), "model": model})


def test_messages_of_another_size_are_refused():
    words = vocabulary()
    data, model = parts(words, [recording(words, 5)])

    def shorter(sent):
        if sent.name != "scores/query":
            return sent
        return Send(sent.name, dict(sent.arrays) | {"low": sent.arrays["low"][:, :, :, 1:]})

    with pytest.raises(ProtocolError):
        run_parties({"data": altered(data, shorter), "model": model})


def test_a_question_about_another_offer_is_refused_by_the_owner_of_the_models():
    words = vocabulary()
    model, other = Model.of(words, longest=5), Model.of(words, longest=5)
    with pytest.raises(ParameterError, match="another offer"):
        next(answer(prepare_model(model), other.offer.question([5]).to_dict(), secure()))


def test_recordings_may_be_made_when_all_else_is_done():
    words = vocabulary()
    one = recording(words, 5)
    model = Model.of(words, longest=5)
    agreed = model.offer.question([5], ahead=True).to_dict()
    seen = []

    def late():
        seen.append("called")
        return [one]

    data = ask(late, agreed, secure())
    server = answer(prepare_model(model), agreed, secure())

    def watched(steps):
        answered = None
        while True:
            try:
                asked = steps.send(answered)
            except StopIteration as end:
                return end.value
            if isinstance(asked, Receive | Send) and not asked.name.startswith("ahead/"):
                assert seen
            else:
                assert not seen
            answered = yield asked

    outputs, _ = run_parties({"data": watched(data), "model": server})
    assert outputs["data"] == [words.predict(one)]


def test_tables_ahead_that_would_take_too_much_room_are_refused_before_anything_is_sent():
    offer = Model.of(vocabulary(words=20, topology="full", states=5), longest=500).offer
    agreed = offer.question([500] * 60, ahead=True).to_dict()
    with pytest.raises(TooLargeError):
        next(ask([], agreed, secure()))
