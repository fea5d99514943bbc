"""Cepstra against kaldi-native-fbank, one thread each: short recordings and a long one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import kaldi_native_fbank as kaldi
import numpy as np

from benchmarks.clock import race
from benchmarks.table import Finding
from discreet.speech import cepstra, frame_count

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["run"]

_SHORT_SECONDS, _LONG_SECONDS = 0.44, 60.0  # a spoken digit, and a minute of speech


def run(full: bool) -> list[Finding]:
    """Static cepstra on both sides; the slopes and the mean, which Kaldi leaves to others, on top of ours."""
    findings: list[Finding] = []
    for rate in (8000, 16000) if full else (8000,):
        noise = np.random.default_rng(0).normal(0, 3000, int(_LONG_SECONDS * rate)).clip(-32768, 32767)
        long = np.rint(noise).astype(np.int16)
        short = np.array_split(long, int(_LONG_SECONDS / _SHORT_SECONDS))
        for name, signals in (("short recordings", short), ("one minute", [long])):
            findings += _compare(name, signals, rate, rounds=15 if full else 5)
    return findings


def _compare(name: str, signals: list[np.ndarray], rate: int, rounds: int) -> list[Finding]:
    frames = sum(frame_count(signal.size, rate) for signal in signals)
    lists = [
        signal.astype(np.float64).tolist() for signal in signals
    ]  # what the peer takes fastest, made outside its time

    def all_of(work: Callable[..., object], inputs: list, **options: object) -> Callable[[], None]:
        def timed() -> None:
            for one in inputs:
                work(one, rate, **options)

        return timed

    contenders = {
        "13": all_of(cepstra, signals, deltas=0, normalise="none"),
        "39": all_of(cepstra, signals),
        "peer": all_of(_kaldis, lists),
    }
    speeds = {who: frames / seconds / 1e3 for who, seconds in race(contenders, rounds).items()}
    return [
        Finding(
            f"{what}, {name} at {rate // 1000} kHz: kaldi-native-fbank's 13",
            f"{speeds[which]:.0f} k frames/s",
            f"{speeds['peer']:.0f} k frames/s",
            speeds[which] / speeds["peer"],
            target,
        )
        for which, what, target in (("13", "13 cepstra", 1.0), ("39", "39 normalised", None))
    ]


def _kaldis(samples: list[float], rate: int) -> np.ndarray:
    options = kaldi.MfccOptions()
    options.frame_opts.samp_freq = rate
    options.frame_opts.dither = 0
    options.mel_opts.low_freq = 64
    options.use_energy = False
    peer = kaldi.OnlineMfcc(options)
    peer.accept_waveform(rate, samples)
    peer.input_finished()
    return np.array([peer.get_frame(index) for index in range(peer.num_frames_ready)])
