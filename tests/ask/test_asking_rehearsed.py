"""Rehearsals: two processes over TLS give the plain word, and say what each party learned."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from tests.ask.small import recording, vocabulary

from discreet.ask import Answer, Model, rehearse
from discreet.ask.cost import cost
from discreet.ask.rehearsal import features_of, vocabulary_of
from discreet.errors import BundleError, DataError, ParameterError
from discreet.fit import WordModels
from discreet.jobs import make_tones
from discreet.models.vocabulary import Vocabulary
from discreet.speech import read_sound
from discreet.speech.front import Front, Range


@pytest.mark.parametrize("ahead", [False, True])
def test_a_rehearsal_gives_the_plain_word_and_says_who_learned_what(ahead):
    words = vocabulary(dimension=3)
    one = recording(words, 9)
    answer = rehearse(words, one, ahead=ahead)
    assert isinstance(answer, Answer)
    assert answer.word == words.predict(one)
    assert answer.learned == {"data": answer.word, "model": "nothing"}
    assert set(answer.receipts) == {"data", "model"}
    assert answer.receipts["data"].plan == answer.question.plan
    assert answer.bytes == pytest.approx(cost(answer.question).bytes, rel=0.02)
    assert answer.sizes["ahead" if ahead else "gates"] >= cost(answer.question).tables
    assert 0 < answer.online <= answer.seconds
    assert (answer.online < answer.seconds) == ahead
    assert set(answer.phases) == set(answer.sizes)
    assert not answer.transcripts


def test_many_recordings_come_back_in_their_order_through_the_front_of_the_vocabulary():
    made = vocabulary(dimension=2, kind="diag")
    front = Front(range=Range((5.0, -3.0), (10.0, 2.0)))
    words = Vocabulary(made.words, made.models, front.to_dict())
    features = [recording(words, 4 + seed % 3, seed) for seed in range(5)]
    raw = [one * [10.0, 2.0] + [5.0, -3.0] for one in features]
    answer = rehearse(words, raw, padding=4, opened="model", record=True)
    assert list(answer.words) == [words.predict(one) for one in features]
    assert answer.learned["data"] == "nothing"
    assert set(answer.transcripts) == {"data", "model"}
    assert rehearse(words, features, prepared=True).words == answer.words
    assert "5 words" in repr(answer)
    with pytest.raises(ParameterError):
        _ = answer.word


def test_sound_files_are_asked_about_like_their_samples(tmp_path):
    made = make_tones(str(tmp_path / "tones"), words=2, speakers=2, takes=3)
    files, tests = (sorted((made.out / part).iterdir()) for part in ("train", "test"))
    settings = {"n_states": 2, "covariance_type": "diag", "ceps": 4, "deltas": 0, "epsilon": float("inf")}
    words = WordModels(**settings).fit(files, [path.name.split("_")[0] for path in files])
    answer = rehearse(words, [tests[0], str(tests[-1]), read_sound(tests[1])[0]])
    assert list(answer.words) == list(words.predict([tests[0], tests[-1], tests[1]]))
    assert rehearse(words, tests[0]).word == answer.words[0]
    with pytest.raises(DataError, match="could not be read"):
        rehearse(words, tmp_path / "absent.wav")
    with pytest.raises(DataError, match="not read from sound files"):
        features_of([tests[0]], Front(symbols=3).to_dict())


def test_what_is_no_vocabulary_is_refused(tmp_path):
    words = vocabulary()

    class Fitted:
        vocabulary_ = words

    assert vocabulary_of(Fitted()) is vocabulary_of(words) is words
    with pytest.raises(ParameterError):
        rehearse(7, recording(words, 3))
    with pytest.raises(BundleError):
        rehearse(tmp_path, recording(words, 3))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_test_recordings_of_spoken_digits_get_their_plain_word(real_data: Path):
    """All 300 with DISCREET_LONG=1, else 20; recordings whose plain margin is below a nat would be listed."""
    from discreet.speech import cepstra, read_sound

    home = real_data / "speech" / "fsdd"
    with (home / "index.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    sounds = {name: read_sound(home / name)[0] for name in sorted({row["file"] for row in rows})}
    features = [
        cepstra(sounds[row["file"]][int(row["start"]) :][: int(row["frames"])], 8000, normalise="mean")
        for row in rows
    ]
    words, unit = digits(rows, features)
    test = [one for one, row in zip(unit, rows, strict=True) if row["split"] == "test"]
    spoken = [row["digit"] for row in rows if row["split"] == "test"]
    plain = words.scores_of(test)
    right = np.mean(
        [words.words[best] == digit for best, digit in zip(plain.argmax(axis=1), spoken, strict=True)]
    )
    assert 0.983 <= right <= 0.997
    margins = np.diff(np.sort(plain, axis=1)[:, -2:], axis=1)[:, 0]
    close = {number: float(margin) for number, margin in enumerate(margins) if margin < 1}
    chosen = range(300) if os.environ.get("DISCREET_LONG") == "1" else range(0, 300, 15)
    answer = rehearse(words, [test[number] for number in chosen], padding=8)
    differing = {
        number
        for number, word in zip(chosen, answer.words, strict=True)
        if word != words.words[plain[number].argmax()]
    }
    assert differing <= set(close), f"margins below a nat: {close}"
    assert Model.of(words, longest=120).offer.precision.typical < 0.5


def digits(rows, features):
    """The models of the official split, and all recordings in unit coordinates."""
    from discreet.fit import GaussianHMM
    from discreet.models.parameters import model_of

    train = [one for one, row in zip(features, rows, strict=True) if row["split"] == "train"]
    stacked = np.concatenate(train)
    span = Range(tuple(stacked.mean(axis=0)), tuple(6 * stacked.std(axis=0)))
    unit = [span.clip(one) for one in features]
    models = []
    for digit in map(str, range(10)):
        fitted = GaussianHMM(
            5,
            epsilon=float("inf"),
            covariance_type="full",
            topology="left-right",
            min_covar=1e-5,
            max_iter=10,
            tol=0,
        ).fit([
            one
            for one, row in zip(unit, rows, strict=True)
            if row["split"] == "train" and row["digit"] == digit
        ])  # fmt: skip
        tensors = {
            "startprob": fitted.startprob_,
            "transmat": fitted.transmat_,
            "means": fitted.means_,
            "covars": fitted.covars_,
        }
        models.append(model_of(tensors, "full"))
    return Vocabulary(tuple(map(str, range(10))), tuple(models)), unit
