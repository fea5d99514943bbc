"""Cepstra against their definition, frame by frame, and against kaldi-native-fbank."""

from __future__ import annotations

import csv
import math
import tracemalloc
from pathlib import Path
from typing import Any

import kaldi_native_fbank as kaldi
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from discreet.errors import DataError, ParameterError
from discreet.speech import cepstra, frame_count, frames, voiced

SECONDS = 0.9


def signals(rate: int) -> dict[str, np.ndarray]:
    """Synthetic signals on the scale of int16."""
    random = np.random.default_rng(rate)
    time = np.arange(int(rate * SECONDS)) / rate
    sweep = np.sin(2 * np.pi * (100 + (rate / 2 - 200) * time / SECONDS / 2) * time)
    vowel = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 20))
    made = {
        "tone": 8000 * np.sin(2 * np.pi * 440 * time) + random.normal(0, 20, time.size),
        "noise": random.normal(0, 3000, time.size),
        "soft noise": random.normal(0, 4, time.size),
        "loud noise with an offset": np.clip(random.normal(9000, 9000, time.size), -32768, 32767),
        # with less noise some triangles lie so far below others that Kaldi's float32 is off by 1e-2
        "sweep": 10000 * sweep + random.normal(0, 300, time.size),
        "vowel with pauses": 5000 * vowel * (np.sin(7 * time) > 0) + random.normal(0, 50, time.size),
        "steps": np.repeat(random.normal(0, 5000, time.size // 40 + 1), 40)[: time.size],
    }
    return {name: np.rint(signal).clip(-32768, 32767).astype(np.int16) for name, signal in made.items()}


def kaldis(samples: np.ndarray, rate: int, *, ceps: int = 13, energy: bool = False) -> np.ndarray:
    """The static cepstra of kaldi-native-fbank, in float32."""
    options = kaldi.MfccOptions()
    options.frame_opts.samp_freq = rate
    options.frame_opts.dither = 0
    options.mel_opts.num_bins = 23
    options.mel_opts.low_freq = 64
    options.num_ceps = ceps
    options.use_energy = energy
    peer = kaldi.OnlineMfcc(options)
    peer.accept_waveform(rate, samples.astype(np.float32).tolist())
    peer.input_finished()
    return np.array([peer.get_frame(index) for index in range(peer.num_frames_ready)])


def by_definition(samples: np.ndarray, rate: int, ceps: int, energy: bool) -> np.ndarray:
    """The static cepstra, one frame and one frequency at a time, with a DFT by its sum."""
    length, shift, size = rate // 40, rate // 100, 256 * rate // 8000
    mel = lambda f: 1127 * math.log(1 + f / 700)  # noqa: E731
    low, high = mel(64), mel(rate / 2)
    edges = [low + (high - low) * k / 24 for k in range(25)]
    rows = []
    for start in range(0, len(samples) - length + 1, shift):
        frame = [float(value) for value in samples[start : start + length]]
        mean = sum(frame) / length
        frame = [value - mean for value in frame]
        loudness = math.log(max(sum(value**2 for value in frame), 2.0**-23))
        frame = [value - 0.97 * frame[max(place - 1, 0)] for place, value in enumerate(frame)]
        hann = [0.5 - 0.5 * math.cos(2 * math.pi * n / (length - 1)) for n in range(length)]
        frame = np.array([value * weight**0.85 for value, weight in zip(frame, hann, strict=True)])
        bins = [0.0] * 23
        for k in range(size // 2):
            power = abs(np.sum(frame * np.exp(-2j * np.pi * k * np.arange(length) / size))) ** 2
            at = mel(k * rate / size)
            for b in range(23):
                left, centre, right = edges[b : b + 3]
                up, down = (at - left) / (centre - left), (right - at) / (right - centre)
                bins[b] += power * max(0.0, min(up, down))
        logs = [math.log(max(value, 2.0**-23)) for value in bins]
        row = []
        for k in range(ceps):
            scale = math.sqrt((1 if k == 0 else 2) / 23) * (1 + 11 * math.sin(math.pi * k / 22))
            row.append(scale * sum(v * math.cos(math.pi * k * (b + 0.5) / 23) for b, v in enumerate(logs)))
        rows.append([loudness, *row[1:]] if energy else row)
    return np.array(rows)


def slopes_by_definition(rows: np.ndarray, deltas: int) -> np.ndarray:
    """Kaldi's add-deltas: filters that are convolved with themselves, over rows that repeat at the ends."""
    kernel, columns = np.array([1.0]), []
    for _ in range(deltas + 1):
        reach = len(kernel) // 2
        columns.append(
            np.array(
                [
                    sum(
                        kernel[reach + j] * rows[min(max(t + j, 0), len(rows) - 1)]
                        for j in range(-reach, reach + 1)
                    )
                    for t in range(len(rows))
                ]
            )
        )
        kernel = np.convolve(kernel, np.array([-2, -1, 0, 1, 2]) / 10)
    return np.hstack(columns)


@pytest.mark.parametrize("rate", [8000, 16000])
@pytest.mark.parametrize("energy", [False, True])
def test_cepstra_are_those_of_their_definition(rate: int, energy: bool) -> None:
    for name in ("tone", "loud noise with an offset", "vowel with pauses"):
        samples = signals(rate)[name][: rate // 10]
        expected = slopes_by_definition(by_definition(samples, rate, 15, energy), 2)
        found = cepstra(samples, rate, ceps=15, normalise="none", energy=energy)
        np.testing.assert_allclose(found, expected, atol=1e-8, rtol=0)


@pytest.mark.parametrize("rate", [8000, 16000])
@pytest.mark.parametrize("energy", [False, True])
@pytest.mark.parametrize("name", list(signals(8000)))
def test_cepstra_are_those_of_kaldi(rate: int, energy: bool, name: str) -> None:
    samples = signals(rate)[name]
    found = cepstra(samples, rate, deltas=0, normalise="none", energy=energy)
    np.testing.assert_allclose(found, kaldis(samples, rate, energy=energy), atol=1e-3, rtol=0)


@pytest.mark.parametrize("energy", [False, True])
def test_cepstra_of_real_digits_are_those_of_kaldi(real_data: Path, energy: bool) -> None:
    for samples in spoken_digits(real_data)[::50]:
        found = cepstra(samples, 8000, deltas=0, normalise="none", energy=energy)
        np.testing.assert_allclose(found, kaldis(samples, 8000, energy=energy), atol=1e-3, rtol=0)


def spoken_digits(folder: Path) -> list[np.ndarray]:
    soundfile: Any = pytest.importorskip("soundfile")
    home = folder / "speech" / "fsdd"
    if not home.is_dir():
        pytest.skip("no spoken digits here")
    with (home / "index.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["speaker"] in ("nicolas", "jackson")]
    whole = {name: soundfile.read(home / name, dtype="int16")[0] for name in {row["file"] for row in rows}}
    return [whole[row["file"]][int(row["start"]) :][: int(row["frames"])] for row in rows]


@pytest.mark.parametrize("rate", [8000, 16000])
def test_digital_silence_and_a_constant_are_the_floor_as_in_kaldi(rate: int) -> None:
    silence = np.zeros(rate, dtype=np.int16)
    for energy in (False, True):
        found = cepstra(silence, rate, deltas=0, normalise="none", energy=energy)
        np.testing.assert_allclose(found, kaldis(silence, rate, energy=energy), atol=1e-3)
        np.testing.assert_allclose(
            cepstra(silence + np.int16(1000), rate, deltas=0, normalise="none")[0],
            cepstra(silence, rate, deltas=0, normalise="none")[0],
            atol=1e-9,
        )
    np.testing.assert_allclose(cepstra(silence, rate, normalise="mean-variance"), 0, atol=1e-6)


def test_floats_and_integers_say_the_same() -> None:
    samples = signals(8000)["noise"]
    np.testing.assert_array_equal(cepstra(samples, 8000), cepstra(samples / 32768, 8000))
    single = cepstra((samples / 32768).astype(np.float32), 8000)
    np.testing.assert_array_equal(single, cepstra(samples, 8000))


@settings(max_examples=30, deadline=None)
@given(size=some.integers(200, 30_000), pieces=some.integers(1, 60), rate=some.sampled_from([8000, 16000]))
def test_pieces_do_not_change_the_cepstra(size: int, pieces: int, rate: int) -> None:
    samples = np.random.default_rng(size).normal(0, 0.1, size + 200).clip(-1, 1)
    whole, mask = cepstra(samples, rate), voiced(samples, rate)
    kept = frames.PIECE_FRAMES
    try:
        frames.PIECE_FRAMES = pieces
        np.testing.assert_allclose(cepstra(samples, rate), whole, atol=1e-9, rtol=0)
        np.testing.assert_array_equal(voiced(samples, rate), mask)
    finally:
        frames.PIECE_FRAMES = kept
    assert len(whole) == len(mask) == frame_count(samples.size, rate)


@pytest.mark.parametrize("size", [200, 279, 280, 360, 520])
@pytest.mark.parametrize("deltas", [0, 1, 2])
def test_short_signals_have_all_their_slopes(size: int, deltas: int) -> None:
    samples = signals(8000)["noise"][:size]
    found = cepstra(samples, 8000, deltas=deltas, normalise="none")
    expected = slopes_by_definition(by_definition(samples, 8000, 13, False), deltas)
    assert found.shape == (1 + (size - 200) // 80, 13 * (deltas + 1))
    np.testing.assert_allclose(found, expected, atol=1e-8, rtol=0)


def test_normalised_columns_have_mean_zero_and_spread_one() -> None:
    samples = signals(16000)["sweep"]
    plain = cepstra(samples, 16000, normalise="none")
    np.testing.assert_allclose(cepstra(samples, 16000), plain - plain.mean(axis=0), atol=1e-9)
    both = cepstra(samples, 16000, normalise="mean-variance")
    np.testing.assert_allclose(both.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(both.std(axis=0), 1, atol=1e-9)


def test_a_louder_recording_has_the_same_cepstra_after_the_mean() -> None:
    samples = signals(8000)["vowel with pauses"] / 32768
    np.testing.assert_allclose(cepstra(samples, 8000), cepstra(samples / 4, 8000), atol=1e-6)


def test_memory_beside_the_result_does_not_grow_with_the_signal() -> None:
    beside = []
    for seconds in (60, 240):
        samples = np.zeros(8000 * seconds, dtype=np.int16)
        tracemalloc.start()
        result = cepstra(samples, 8000)
        beside.append(tracemalloc.get_traced_memory()[1] - result.nbytes)
        tracemalloc.stop()
    assert beside[1] < beside[0] + 2**17 < 2**23


@pytest.mark.parametrize("rate", [8000, 16000])
def test_voiced_frames_are_the_loud_ones(rate: int) -> None:
    random = np.random.default_rng(1)
    quiet, loud = random.normal(0, 1e-4, rate), random.normal(0, 0.1, rate)
    mask = voiced(np.concatenate([quiet, loud, quiet]), rate)
    assert len(mask) == frame_count(3 * rate, rate)
    assert not mask[:96].any() and mask[101:196].all() and not mask[202:].any()
    assert voiced(quiet, rate).all(), "loudness is relative to the loudest frame"
    assert voiced(np.concatenate([quiet, loud]), rate, depth=90).all()
    assert not voiced(np.zeros(rate), rate).any()


BAD_SIGNALS: dict[str, tuple[Any, str]] = {
    "too short": (np.zeros(199), "shorter than one frame; got '199 samples'; wanted at least 200"),
    "empty": (np.zeros(0), "shorter than one frame"),
    "stereo": (np.zeros((800, 2)), "not one channel"),
    "one number": (np.float64(1), "not one channel"),
    "int32": (np.zeros(800, dtype=np.int32), "type without a known scale; got 'int32'"),
    "bytes": (np.zeros(800, dtype=np.uint8), "type without a known scale"),
    "text": (np.array(["a"] * 800), "type without a known scale"),
    "complex": (np.zeros(800, dtype=complex), "type without a known scale"),
    "NaN": (np.array([0.0] * 799 + [np.nan]), "not finite"),
    "infinite": (np.array([-np.inf] + [0.0] * 799), "not finite"),
    "floats on the scale of int16": (np.full(800, 1234.5), "leaves the range of its type"),
}


@pytest.mark.parametrize("case", BAD_SIGNALS)
@pytest.mark.parametrize("function", [cepstra, voiced])
def test_bad_signals_are_refused(case: str, function: Any) -> None:
    samples, words = BAD_SIGNALS[case]
    with pytest.raises(DataError, match=words) as refusal:
        function(samples, 8000)
    assert "1234" not in str(refusal.value), "no error carries a value of the recording"


@pytest.mark.parametrize(
    "options",
    [{"ceps": 0}, {"ceps": 24}, {"ceps": 2.5}, {"deltas": 3}, {"deltas": -1}, {"normalise": "variance"}],
    ids=str,
)
def test_bad_settings_of_cepstra_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        cepstra(np.zeros(800), 8000, **options)


def test_whole_numbers_of_any_type_will_do() -> None:
    samples = signals(8000)["noise"]
    found = cepstra(samples, np.float64(8000), ceps=np.int64(13), deltas=2.0)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found, cepstra(samples, 8000))


@pytest.mark.parametrize("rate", [44100, 0, -8000, 8000.5, None])
def test_other_rates_are_refused(rate: Any) -> None:
    with pytest.raises(ParameterError, match="one of 8000, 16000"):
        cepstra(np.zeros(80_000), rate)


@pytest.mark.parametrize("depth", [0, -3, np.nan, np.inf])
def test_a_depth_that_is_no_loudness_is_refused(depth: float) -> None:
    with pytest.raises(ParameterError):
        voiced(np.zeros(800), 8000, depth=depth)
