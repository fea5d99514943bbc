"""Word models: which word was said, on data that nobody tuned on; papers, sizes, refusals, real digits."""

from __future__ import annotations

import json
import math
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from discreet.accounting.ledger import Ledger
from discreet.bundle import read_vocabulary
from discreet.errors import (
    BundleError,
    DataError,
    DomainError,
    NotFittedError,
    OverspentError,
    ParameterError,
)
from discreet.fit import WordModels
from discreet.jobs.tones import melody, speak

PLAIN = float("inf")


def tones(words: int = 3, speakers: int = 2, takes: int = 4, noise: float = 10.0, seed: int = 0) -> Any:
    """Samples, words and speakers of made-up words, the takes of a word one after the other."""
    draw = np.random.default_rng(seed)
    voices = [(np.exp(draw.normal(0, 0.1)), np.exp(draw.normal(0, 0.12)), 0.5) for _ in range(speakers)]
    told = [(w, s, t) for w in range(words) for s in range(speakers) for t in range(takes)]
    samples = [speak(melody(word), *voices[speaker], noise, draw) for word, speaker, _ in told]
    return samples, [f"w{word}" for word, _, _ in told], [f"s{speaker}" for _, speaker, _ in told]


def walks(
    words: int, frames: int, dimension: int, takes: int = 6, seed: int = 0, spread: float = 0.3
) -> tuple[list[np.ndarray], list[str]]:
    """Points that move along a line of its own for each word."""
    draw = np.random.default_rng(seed)
    ends = np.random.default_rng(99).normal(0, 1, (words, 2, dimension))
    rows, said = [], []
    for word in range(words):
        for _ in range(takes):
            long = max(1, int(frames * draw.uniform(0.8, 1.2)))
            path = np.linspace(0, 1, long)[:, None]
            line = ends[word, 0] * (1 - path) + ends[word, 1] * path
            rows.append(line + draw.normal(0, spread, (long, dimension))), said.append(f"word {word}")
    return rows, said


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"covariance_type": "diag"},
        {"covariance_type": "diag", "n_mix": 2, "n_states": 3},
        {"topology": "full", "n_states": 3, "random_state": 0},
        {"codebook": 16, "random_state": 0},
        {"deltas": 1, "ceps": 13, "normalise": "mean-variance"},
        {"deltas": 0, "depth": 30.0},
    ],
    ids=str,
)
def test_words_that_nobody_tuned_on_are_recognised(settings: dict[str, Any]) -> None:
    recordings, words, _ = tones(4, 2, 6)
    heard, said, _ = tones(4, 2, 3, seed=1)
    made = WordModels(**({"epsilon": PLAIN} | settings)).fit(recordings, words)
    assert made.score(heard, said) >= 0.9, "chance: a quarter"
    assert made.vocabulary_.topology == settings.get("topology", "left-right")
    for features in made.features(heard):
        if made.vocabulary_.symbols:
            assert features.dtype == np.intp and features.max() < 16
        else:
            assert np.abs(features).max() <= 1 and features.shape[1] == made.vocabulary_.dimension


def test_noise_makes_words_harder() -> None:
    made = WordModels(epsilon=PLAIN, covariance_type="diag").fit(*tones(8, 3, 5)[:2])
    clear, loud = (made.score(*tones(8, 3, 3, noise=level, seed=1)[:2]) for level in (10.0, -12.0))
    assert loud < clear - 0.1 and clear > 0.9


SIZES = [(3, 10, 1, 13), (20, 30, 3, 13), (3, 500, 8, 13), (5, 60, 5, 26), (4, 100, 8, 39), (3, 12, 2, 2)]


@pytest.mark.parametrize(("words", "frames", "states", "dimension"), SIZES)
@pytest.mark.parametrize("kind", ["diag", "full"])
def test_any_size_from_small_to_large(
    words: int, frames: int, states: int, dimension: int, kind: str
) -> None:
    rows, said = walks(words, frames, dimension)
    made = WordModels(states, epsilon=PLAIN, input="points", covariance_type=kind, min_covar=1e-3).fit(
        rows, said
    )
    assert made.score(*walks(words, frames, dimension, seed=1)) > 0.9
    assert (made.vocabulary_.states, made.vocabulary_.dimension) == (states, dimension)
    assert len(made.vocabulary_.words) == words


def test_given_symbols_are_recognised_and_no_symbol_is_impossible() -> None:
    draw = np.random.default_rng(0)
    dice = np.array([[0.8, 0.1, 0.1, 0.0], [0.0, 0.1, 0.1, 0.8], [0.1, 0.4, 0.4, 0.1]])
    lists = [draw.choice(4, size=20, p=dice[word]) for word in range(3) for _ in range(30)]
    words = [word for word in range(3) for _ in range(30)]
    made = WordModels(2, epsilon=PLAIN, input="symbols", n_symbols=4).fit(lists, words)
    assert made.score(lists, words) > 0.9 and made.vocabulary_.words == ("0", "1", "2")
    least = min(model.emission.probabilities.min() for model in made.vocabulary_.models)  # type: ignore[attr-defined]
    assert least >= 1e-4
    assert np.isfinite(made.scores([np.array([0, 3, 0, 3, 1, 2])])).all()


def test_both_methods_give_a_score_for_every_word_and_viterbi_is_lower() -> None:
    recordings, words, _ = tones()
    made = WordModels(epsilon=PLAIN).fit(recordings, words)
    forward, best = made.scores(recordings), made.scores(recordings, "viterbi")
    assert forward.shape == (len(words), 3) and (best <= forward + 1e-9).all()
    assert made.predict(recordings).tolist() == made.predict(recordings, "viterbi").tolist()
    alone = np.array([made.vocabulary_.scores(one) for one in made.features(recordings)])
    np.testing.assert_allclose(alone, forward, rtol=1e-9)


def test_a_saved_vocabulary_hears_the_same_and_its_front_is_public(tmp_path: Path) -> None:
    recordings, words, _ = tones()
    made = WordModels(epsilon=PLAIN).fit(recordings, words)
    folder = made.save(tmp_path / "words")
    again = WordModels.load(folder)
    np.testing.assert_array_equal(again.scores(recordings), made.scores(recordings))
    assert again.front_ == made.front_ and again.guarantee_ == made.guarantee_
    assert again.get_params()["n_states"] == 5 and again.get_params()["vocabulary"] == ("w0", "w1", "w2")
    read = read_vocabulary(folder)
    assert read.words == made.vocabulary_.words and read.front == made.front_.to_dict()
    assert sorted(path.name for path in folder.iterdir()) == [
        "MODEL_CARD.md", "model.json", "model.safetensors", "receipt.json",
    ]  # fmt: skip
    assert again.save(tmp_path / "copy").exists()


def test_symbols_and_points_are_read_back_too(tmp_path: Path) -> None:
    rows, said = walks(3, 20, 2)
    points = WordModels(2, epsilon=PLAIN, input="points").fit(rows, said)
    np.testing.assert_array_equal(
        WordModels.load(points.save(tmp_path / "points")).scores(rows), points.scores(rows)
    )
    coded = WordModels(2, epsilon=PLAIN, input="points", codebook=8, random_state=0).fit(rows, said)
    np.testing.assert_array_equal(
        WordModels.load(coded.save(tmp_path / "coded")).scores(rows), coded.scores(rows)
    )


def test_an_altered_folder_is_refused(tmp_path: Path) -> None:
    rows, said = walks(3, 20, 2)
    folder = WordModels(2, epsilon=PLAIN, input="points").fit(rows, said).save(tmp_path / "words")
    plain = json.loads((folder / "model.json").read_text())
    for change in (
        lambda made: made["vocabulary"]["words"].reverse(),
        lambda made: made["vocabulary"]["front"]["range"].update(scale=[1.0, 1.0]),
        lambda made: made["vocabulary"].update(covariance_type="diag"),
        lambda made: made.pop("vocabulary"),
        lambda made: made.update(vocabulary=[]),
        lambda made: made.update(kind="gaussian-hmm"),
    ):
        altered = json.loads(json.dumps(plain))
        change(altered)
        (folder / "model.json").write_text(json.dumps(altered))
        with pytest.raises(BundleError):
            WordModels.load(folder)
    (folder / "model.json").write_text(json.dumps(plain))
    WordModels.load(folder)
    receipt = json.loads((folder / "receipt.json").read_text())
    strange = [
        json.dumps({**receipt, "front": 0}),
        json.dumps({**receipt, "account": 1.5}),
        "[]",
        "[" * 10**5,
    ]
    for text in strange:
        (folder / "receipt.json").write_text(text)
        with pytest.raises(BundleError):
            WordModels.load(folder)


def test_models_that_were_changed_after_the_fit_are_not_saved(tmp_path: Path) -> None:
    rows, said = walks(3, 20, 2)
    made = WordModels(2, epsilon=PLAIN, input="points").fit(rows, said)
    made.vocabulary_ = WordModels(2, epsilon=PLAIN, input="points").fit(*walks(3, 20, 2, seed=5)).vocabulary_
    with pytest.raises(BundleError, match="not those that were released"):
        made.save(tmp_path / "words")


def test_files_and_samples_are_heard_alike_and_other_rates_are_refused(tmp_path: Path) -> None:
    recordings, words, _ = tones()
    made = WordModels(epsilon=PLAIN).fit(recordings, words)
    for name, rate in (("a.wav", 8000), ("b.wav", 16000)):
        with wave.open(str(tmp_path / name), "wb") as file:
            file.setparams((1, 2, rate, 0, "NONE", ""))
            file.writeframes(recordings[0].tobytes())
    np.testing.assert_allclose(made.scores([tmp_path / "a.wav"]), made.scores(recordings[:1]))
    with pytest.raises(DataError, match=r"b\.wav has another sampling rate.*16000"):
        made.scores([str(tmp_path / "b.wav")])
    with pytest.raises(DataError, match="could not be read"):
        made.scores([tmp_path / "absent.wav"])
    with wave.open(str(tmp_path / "short.wav"), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(398))
    with pytest.raises(DataError, match=r"short\.wav is shorter than one frame"):
        made.scores([tmp_path / "short.wav"])
    with pytest.raises(DataError, match="shorter than one frame"):
        made.scores([np.zeros(100)])


def test_private_models_of_many_recordings_recognise_and_say_what_they_cost(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.budget("walks", "sequence", 60.0, 1e-5)
    rows, said = walks(3, 12, 2, takes=300)
    made = WordModels(
        2,
        epsilon=50.0,
        delta=1e-5,
        input="points",
        bounds=([-2, -2], [2, 2]),
        max_frames=15,
        vocabulary=["word 0", "word 1", "word 2"],
        ledger=ledger,
        dataset="walks",
    ).fit(rows, said)
    assert made.score(*walks(3, 12, 2, seed=1)) > 0.8, "chance: a third"
    assert made.guarantee_.private and made.guarantee_.unit == "sequence"
    (entry,) = ledger.entries()
    assert entry.digest == made.receipt_["account"]["digest"], "one row of the ledger pays for all words"
    again = WordModels.load(made.save(tmp_path / "words"))
    assert again.guarantee_ == made.guarantee_ and again.epsilon == 50.0
    with pytest.raises(OverspentError):
        clone(made).fit(rows, said)
    assert not hasattr(clone(made), "vocabulary_")


def test_private_models_per_speaker_charge_the_budget_of_speakers(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.budget("walks", "person", 5.0, 1e-5)
    rows, said = walks(2, 12, 2, takes=20)
    who = [f"s{number % 10}" for number in range(len(rows))]
    settings: dict[str, Any] = {
        "epsilon": 4.0,
        "delta": 1e-5,
        "input": "points",
        "bounds": ([-2, -2], [2, 2]),
        "max_frames": 15,
        "vocabulary": ["word 0", "word 1"],
        "person": "speaker",
    }
    made = WordModels(2, **settings, ledger=ledger, dataset="walks").fit(rows, said, who)
    assert len(ledger.entries()) == 1 and made.guarantee_.unit == "person"
    assert {event.count for event in made.guarantee_.events} == {2}
    words = made.guarantee_.words()
    assert "all of them as much as 2 words at most" in words and "'speaker'" in words
    with pytest.raises(ParameterError, match="whose recordings"):
        WordModels(2, **settings).fit(rows, said)


def test_private_symbols_and_drawn_codebooks_look_at_no_recording() -> None:
    private: dict[str, Any] = {"epsilon": 30.0, "delta": 1e-5, "vocabulary": ["a", "b"], "max_frames": 12}
    draw = np.random.default_rng(0)
    lists = [
        draw.choice(3, size=10, p=dice) for dice in ([0.8, 0.1, 0.1], [0.1, 0.1, 0.8]) for _ in range(60)
    ]
    said = ["a"] * 60 + ["b"] * 60
    made = WordModels(2, input="symbols", n_symbols=3, n_rounds=3, **private).fit(lists, said)
    assert made.score(lists, said) > 0.8
    first, second = (
        WordModels(2, codebook=8, n_rounds=1, **private).fit(
            *tones(2, 1, 3, seed=seed)[:1], ["a"] * 3 + ["b"] * 3
        )
        for seed in (0, 1)
    )
    assert first.front_ == second.front_ and len(first.front_.codebook) == 8


def test_seeded_private_fits_say_that_they_are_not_private() -> None:
    rows, said = walks(2, 12, 2, takes=20)
    settings: dict[str, Any] = {
        "epsilon": 4.0, "delta": 1e-5, "input": "points", "bounds": ([-2, -2], [2, 2]), "max_frames": 15,
        "vocabulary": ["word 0", "word 1"], "random_state": 3,
    }  # fmt: skip
    first, second = (WordModels(2, **settings).fit(rows, said) for _ in range(2))
    assert not first.guarantee_.private and "seeded" in first.guarantee_.summary()
    np.testing.assert_array_equal(first.scores(rows), second.scores(rows))


PRIVATE = {"epsilon": 1.0, "delta": 1e-5, "vocabulary": ["w0", "w1", "w2"], "max_frames": 50}
BAD_SETTINGS: dict[str, dict[str, Any]] = {
    "no epsilon": {"epsilon": "much"},
    "epsilon 0": {"epsilon": 0.0},
    "no states": {"n_states": 0},
    "states as text": {"n_states": "5"},
    "another rate": {"rate": 44100},
    "another topology": {"topology": "ring"},
    "another covariance": {"covariance_type": "round"},
    "another normalisation": {"normalise": "best"},
    "another input": {"input": "video"},
    "slopes of third order": {"deltas": 3},
    "too many cepstra": {"ceps": 24},
    "no depth": {"depth": -1.0},
    "symbols without a number": {"input": "symbols"},
    "a number without symbols": {"n_symbols": 4},
    "codebook of symbols": {"input": "symbols", "n_symbols": 4, "codebook": 4},
    "codebook of one": {"codebook": 1},
    "codebook as text": {"codebook": "many"},
    "codebook of another width": {"codebook": [[0.0, 0.0]]},
    "a word twice": {"vocabulary": ["a", "a"]},
    "no words": {"vocabulary": []},
    "a bound that bounds nobody": {"words_per_person": 2},
    "a weight that bounds nobody": {"recordings_per_person": 2.0},
    "person is no name": {"person": 5},
    "words_per_person 0": {"person": "speaker", "words_per_person": 0},
    "rounds 0": {"max_iter": 0},
    "frames 0": {"max_frames": 0},
    "private without words": {"epsilon": 1.0, "delta": 1e-5, "max_frames": 50},
    "private without delta": {"epsilon": 1.0, "max_frames": 50, "vocabulary": ["w0", "w1", "w2"]},
    "private without a length": {"epsilon": 1.0, "delta": 1e-5, "vocabulary": ["w0", "w1", "w2"]},
    "private mixtures": {**PRIVATE, "n_mix": 2},
    "private without a range": {**PRIVATE, "normalise": "mean"},
    "dataset without a ledger": {"dataset": "walks"},
}


@pytest.mark.parametrize("case", BAD_SETTINGS)
def test_bad_settings_are_refused_before_a_recording_is_read(case: str) -> None:
    class Unread:
        def __array__(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("a recording was read")

    with pytest.raises((ParameterError, DomainError, DataError)):
        WordModels(**({"epsilon": PLAIN} | BAD_SETTINGS[case])).fit([Unread()] * 3, ["w0", "w1", "w2"])


def made_up(case: str) -> tuple[list[np.ndarray], list[str], dict[str, Any]]:
    """Recordings, words and settings of a request that is small, or strange."""
    draw = np.random.default_rng(0)
    points = [draw.normal(0, 0.5, (int(draw.integers(1, 9)), 2)) for _ in range(20)]
    said = ["a"] * 10 + ["b"] * 10
    square = {**TINY, "input": "points", "bounds": ([-1, -1], [1, 1])}
    silence = [np.zeros(4000, dtype=np.int16)] * 4
    plain = {"epsilon": PLAIN, "input": "points", "n_states": 3}
    few = [draw.integers(0, 500, 10) for _ in range(20)]
    return {
        "one state": (points, said, square | {"n_states": 1}),
        "more states than frames": (points, said, square | {"n_states": 12}),
        "any step": (points, said, square | {"topology": "full", "covariance_type": "full"}),
        "laplace": (points, said, square | {"noise": "laplace", "delta": None}),
        "hardly any budget": (points, said, square | {"epsilon": 1e-6}),
        "more budget than sense": (points, said, square | {"epsilon": 1e5}),
        "one recording a word": (points[:2], ["a", "b"], square),
        "far outside": ([np.full((4, 2), 1e300)] * 4, list("aabb"), square),
        "all the same": ([np.ones((4, 2))] * 4, list("aabb"), plain),
        "whole numbers": ([np.arange(8).reshape(4, 2)] * 4, list("aabb"), plain),
        "plain, more states than frames": (points, said, plain | {"n_states": 30}),
        "one word": (points[:1] * 3, ["a"] * 3, plain | {"n_states": 1}),
        "silence": (silence, list("aabb"), {"epsilon": PLAIN}),
        "silence, private": (silence, list("aabb"), TINY),
        "many symbols": (few, said, TINY | {"input": "symbols", "n_symbols": 500, "n_states": 5}),
    }[case]  # type: ignore[return-value]


TINY: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "max_frames": 8, "vocabulary": ["a", "b"]}
STRANGE = (
    *("one state", "more states than frames", "any step", "laplace", "hardly any budget"),
    *("more budget than sense", "one recording a word", "far outside", "all the same", "whole numbers"),
    *("plain, more states than frames", "one word", "silence", "silence, private", "many symbols"),
)


@pytest.mark.parametrize("case", STRANGE)
def test_small_and_strange_requests_end_in_models_that_score(case: str) -> None:
    recordings, said, settings = made_up(case)
    made = WordModels(**settings).fit(recordings, said)
    assert np.isfinite(made.scores(recordings)).all()
    assert np.isfinite(list(map(np.sum, made.vocabulary_.tensors().values()))).all()


def test_a_budget_too_small_for_exact_noise_on_many_words_is_refused() -> None:
    recordings, said, settings = made_up("hardly any budget")
    with pytest.raises(ParameterError, match="too small to be kept exactly"):
        WordModels(**settings, person="speaker").fit(recordings, said, ["x"] * 20)


def test_scores_need_a_word_for_each_recording() -> None:
    rows, said = walks(2, 12, 2)
    made = WordModels(2, epsilon=PLAIN, input="points").fit(rows, said)
    with pytest.raises(DataError, match="one word for each"):
        made.score(rows, said[:-1])


def test_a_failed_fit_leaves_no_older_result() -> None:
    rows, said = walks(2, 12, 2)
    made = WordModels(2, epsilon=PLAIN, input="points").fit(rows, said)
    with pytest.raises(DataError):
        made.fit(rows, said[:-1])
    with pytest.raises(NotFittedError):
        made.predict(rows)


def test_labels_that_do_not_fit_are_refused() -> None:
    rows, said = walks(2, 12, 2)
    made = WordModels(2, epsilon=PLAIN, input="points")
    for recordings, words, match in (
        ([], [], "at least one"),
        (rows, said[:-1], "one word for each"),
        (rows, [1.5, *said[1:]], "not text"),
        (rows, [True, *said[1:]], "not text"),
        ("a.wav", ["a"], "not a list"),
        ([rows[0], rows[1][:, :1]], ["a", "b"], "other numbers of columns"),
        ([rows[0], np.full((3, 2), np.nan)], ["a", "b"], "finite"),
    ):
        with pytest.raises(DataError, match=match):
            made.fit(recordings, words)
    declared = WordModels(2, epsilon=PLAIN, input="points", vocabulary=["word 0"])
    with pytest.raises(DataError, match="not declared"):
        declared.fit(rows, said)
    with pytest.raises(DataError, match="has no recording"):
        declared.set_params(vocabulary=["word 0", "word 1", "word 2"]).fit(rows, said)


def test_no_refusal_holds_a_value_of_a_recording() -> None:
    recordings = [np.full((3, 2), 123456.0), np.array([[123456.0, np.inf]])]
    with pytest.raises(DataError) as refused:
        WordModels(1, epsilon=PLAIN, input="points").fit(recordings, ["a", "b"])
    assert "123456" not in str(refused.value)


def test_plain_fits_are_not_charged_to_a_ledger(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.budget("walks", "sequence", 5.0, 1e-5)
    rows, said = walks(2, 12, 2)
    with pytest.raises(ParameterError, match="not private"):
        WordModels(2, epsilon=PLAIN, input="points", ledger=ledger, dataset="walks").fit(rows, said)
    assert not ledger.entries()


def test_progress_counts_words() -> None:
    told: list[tuple[int, int]] = []
    WordModels(2, epsilon=PLAIN, input="points").fit(
        *walks(3, 12, 2), progress=lambda done, all: told.append((done, all))
    )
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.slow
def test_real_digits_are_recognised_as_claimed(real_data: Path) -> None:
    """FSDD, official split, 10 digits, 5 states, 39 numbers, full covariances: 99.0 % +- 0.7."""
    from experiments.digits import read_digits, read_recordings

    _, recordings = read_recordings(real_data)
    digits = read_digits(real_data)
    fold = digits.official
    made = WordModels(n_states=5, covariance_type="full", rate=8000, epsilon=PLAIN)
    made.fit([recordings[at] for at in fold.train], digits.digits[fold.train])
    right = made.score([recordings[at] for at in fold.test], digits.digits[fold.test])
    assert 98.3 <= 100 * right <= 99.7 and math.isfinite(right)
    assert made.vocabulary_.dimension == 39 and len(made.vocabulary_.words) == 10
