"""Fronts: features in a declared range, the same after reading back, and strange ones refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from discreet.errors import DataError, ParameterError
from discreet.speech import Front, Range, Sound, cepstra


def noise(seconds: float = 0.5, rate: int = 8000) -> np.ndarray:
    draw = np.random.default_rng(3)
    return (9000 * draw.uniform(-1, 1, int(seconds * rate)) * np.linspace(0, 1, int(seconds * rate))).astype(
        np.int16
    )


def spoken(rate: int = 8000, scale: float = 20.0, **more: Any) -> Front:
    sound = Sound(rate, **more)
    return Front(sound, Range((0.0,) * sound.dimension, (scale,) * sound.dimension))


@pytest.mark.parametrize("rate", [8000, 16000])
@pytest.mark.parametrize(("ceps", "deltas"), [(13, 2), (13, 1), (13, 0), (20, 2)])
def test_features_are_scaled_cepstra_clipped_to_the_declared_range(rate: int, ceps: int, deltas: int) -> None:
    samples = noise(rate=rate)
    front = spoken(rate, ceps=ceps, deltas=deltas)
    features = front.prepare(samples)
    raw = cepstra(samples, rate, ceps=ceps, deltas=deltas)
    np.testing.assert_allclose(features, np.clip(raw / 20, -1, 1))
    assert np.abs(features).max() == 1 and np.abs(raw).max() > 20, "something was clipped"
    assert front.columns == ceps * (deltas + 1) and front.alphabet == 0 and front.rate == rate


def test_whatever_is_recorded_features_stay_in_the_range() -> None:
    front = spoken(scale=1e-3)
    for samples in (noise(), np.full(4000, 32767, dtype=np.int16), np.zeros(400), np.tile([1.0, -1.0], 900)):
        features = front.prepare(samples)
        assert features.min() >= -1 and features.max() <= 1 and np.isfinite(features).all()


def test_frames_without_speech_can_be_left_out() -> None:
    quiet = np.concatenate([np.zeros(4000, dtype=np.int16), noise(), np.zeros(4000, dtype=np.int16)])
    assert len(spoken(depth=30.0).prepare(quiet)) < len(spoken().prepare(quiet)) / 2
    assert len(spoken(depth=30.0).prepare(np.zeros(4000, dtype=np.int16))) == 48, "silence keeps its frames"


def test_a_codebook_names_the_nearest_codeword() -> None:
    draw = np.random.default_rng(0)
    book = draw.uniform(-1, 1, (16, 39))
    front = Front(Sound(), Range((0.0,) * 39, (20.0,) * 39), tuple(map(tuple, book.tolist())))
    unit = spoken().prepare(noise())
    slow = [int(np.argmin([np.square(row - word).sum() for word in book])) for row in unit]
    assert front.prepare(noise()).tolist() == slow and front.alphabet == 16


def test_points_and_symbols_are_taken_as_they_are_given() -> None:
    points = Front(range=Range((1.0, 2.0), (2.0, 4.0)))
    np.testing.assert_array_equal(points.prepare([[1, 2], [9, -2]]), [[0, 0], [1, -1]])
    symbols = Front(symbols=5)
    assert symbols.prepare(np.array([[4], [0]])).tolist() == [4, 0] and symbols.columns == 1
    for front, bad in (
        (points, np.zeros((3, 1))),
        (points, np.zeros(2)),
        (points, np.zeros((0, 2))),
        (points, np.array([["a", "b"]])),
        (points, np.array([[np.nan, 0]])),
        (symbols, np.array([5])),
        (symbols, np.array([-1])),
        (symbols, np.array([0.0])),
        (symbols, np.zeros(0, dtype=int)),
    ):
        with pytest.raises(DataError):
            front.prepare(bad)


FRONTS = {
    "sound": spoken(),
    "all settings": spoken(16000, ceps=12, deltas=1, normalise="mean-variance", energy=True, depth=25.0),
    "points": Front(range=Range((0.1, 1 / 3), (1e-3, 1e6))),
    "symbols": Front(symbols=7),
    "codebook": Front(range=Range((0.0,), (1.0,)), codebook=((0.1,), (-1 / 3,))),
}


@pytest.mark.parametrize("name", FRONTS)
def test_a_front_is_read_back_from_json(name: str) -> None:
    assert Front.of(json.loads(json.dumps(FRONTS[name].to_dict(), allow_nan=False))) == FRONTS[name]


def altered(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    plain = json.loads(json.dumps(FRONTS["codebook" if path[0] == "codebook" else "sound"].to_dict()))
    inner = plain
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return plain


STRANGE: dict[str, tuple[tuple[Any, ...], Any]] = {
    "more": (("more",), 1),
    "another rate": (("sound", "rate"), 44100),
    "rate as text": (("sound", "rate"), "8000"),
    "sound is a list": (("sound",), [1]),
    "more of sound": (("sound", "path"), "/etc"),
    "too many cepstra": (("sound", "ceps"), 10**9),
    "cepstra as text": (("sound", "ceps"), "13"),
    "slopes of slopes of slopes": (("sound", "deltas"), 3),
    "another normalisation": (("sound", "normalise"), "best"),
    "no depth": (("sound", "depth"), -1),
    "depth is infinite": (("sound", "depth"), float("inf")),
    "no range": (("range",), None),
    "narrow range": (("range", "scale"), [1.0] * 12),
    "scale 0": (("range", "scale"), [0.0] * 39),
    "scale infinite": (("range", "scale"), [float("inf")] * 39),
    "center is text": (("range", "center"), "x" * 39),
    "symbols too": (("symbols",), 5),
    "symbols as text": (("symbols",), "5"),
    "symbols negative": (("symbols",), -1),
    "codebook too wide": (("codebook",), [[0.0, 0.0]]),
    "codebook out of range": (("codebook",), [[2.0]]),
    "codebook is a number": (("codebook",), 5),
}


@pytest.mark.parametrize("case", STRANGE)
def test_strange_fronts_are_refused(case: str) -> None:
    with pytest.raises(ParameterError):
        Front.of(altered(*STRANGE[case]))


def test_sampling_rates_and_depths_are_checked() -> None:
    for bad in ({"rate": 11025}, {"depth": 0.0}, {"ceps": 0}, {"deltas": 5}):
        with pytest.raises(ParameterError):
            Sound(**bad)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="shorter than one frame"):
        spoken().prepare(np.zeros(100))
