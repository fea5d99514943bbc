"""Sound files: every width of PCM, FLAC, and files that are not what they say."""

from __future__ import annotations

import struct
import sys
import wave
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import DataError, RequestError
from discreet.speech import cepstra, read_sound


def write_wave(path: Path, content: bytes, width: int, channels: int = 1, rate: int = 8000) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, width, rate, 0, "NONE", ""))
        file.writeframes(content)
    return path


def pcm(values: np.ndarray, width: int) -> bytes:
    """Integers as little-endian PCM, one after the other; one byte has an offset of 128."""
    if width == 1:
        return bytes(int(value) + 128 for value in values)
    return b"".join(int(value).to_bytes(width, "little", signed=True) for value in values)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("rate", [8000, 44100])
def test_every_width_of_pcm_is_read_exactly(tmp_path: Path, width: int, rate: int) -> None:
    full = 2 ** (8 * width - 1)
    random = np.random.default_rng(width)
    values = np.concatenate([[-full, full - 1, 0, 1, -1], random.integers(-full, full, 1000)])
    samples, found = read_sound(write_wave(tmp_path / "a.wav", pcm(values, width), width, rate=rate))
    assert found == rate and samples.dtype == np.float64
    np.testing.assert_array_equal(samples * full, values)


@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize("junk", [0, 5])
def test_pcm_under_the_extensible_tag_is_read_exactly(tmp_path: Path, width: int, junk: int) -> None:
    values = np.random.default_rng(width).integers(-(2 ** (8 * width - 1)), 2 ** (8 * width - 1), 777)
    data, rate = pcm(values, width), 16000
    guid = bytes.fromhex("0100000000001000800000aa00389b71")
    form = struct.pack("<HHIIHHHHI", 0xFFFE, 1, rate, rate * width, width, 8 * width, 22, 8 * width, 4) + guid
    before = b"JUNK" + struct.pack("<I", junk) + bytes(junk + junk % 2) if junk else b""
    body = b"WAVE" + before + b"fmt " + struct.pack("<I", 40) + form
    body += b"data" + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)
    path = tmp_path / "a.wav"
    path.write_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)
    samples, found = read_sound(path)
    assert found == rate
    np.testing.assert_array_equal(samples * 2 ** (8 * width - 1), values)
    path.write_bytes((b"RIFF" + struct.pack("<I", len(body)) + body).replace(guid, b"\x03" + guid[1:]))
    with pytest.raises(DataError, match="not plain PCM"):
        read_sound(path)


@pytest.mark.parametrize("bits", [16, 24])
def test_flac_is_read_exactly(tmp_path: Path, bits: int) -> None:
    soundfile = pytest.importorskip("soundfile")
    full = 2 ** (bits - 1)
    values = np.random.default_rng(bits).integers(-full, full, 2**20 + 5)
    path = tmp_path / "a.flac"
    soundfile.write(path, (values << (32 - bits)).astype(np.int32), 16000, subtype=f"PCM_{bits}")
    samples, rate = read_sound(str(path))
    assert rate == 16000
    np.testing.assert_array_equal(samples * full, values)


def test_the_name_of_a_file_does_not_matter(tmp_path: Path) -> None:
    path = write_wave(tmp_path / "a.flac", pcm(np.arange(400), 2), 2)
    assert len(read_sound(path)[0]) == 400


def test_a_file_gives_the_cepstra_of_its_integers(tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(-9000, 9000, 4000).astype(np.int16)
    samples, rate = read_sound(write_wave(tmp_path / "a.wav", pcm(values, 2), 2))
    np.testing.assert_array_equal(cepstra(samples, rate), cepstra(values, 8000))


def test_flac_without_soundfile_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.flac"
    path.write_bytes(b"fLaC" + bytes(100))
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(RequestError, match=r"discreet\[speech\]"):
        read_sound(path)


def test_bad_sound_files_are_refused(tmp_path: Path) -> None:
    good = write_wave(tmp_path / "good.wav", pcm(np.arange(400), 2), 2).read_bytes()
    a_law = bytearray(good)
    a_law[20:22] = (6).to_bytes(2, "little")
    promising = bytearray(good)
    promising[40:44] = promising[4:8] = (2**32 - 16).to_bytes(4, "little")
    files = {
        "empty": (b"", "not a sound file"),
        "text": (b"file,start,frames\n" * 9, "not a sound file"),
        "only a head": (good[:12], "damaged"),
        "cut": (good[:-100], "cut short"),
        "promises four gigabytes": (bytes(promising), "cut short"),
        "a-law": (bytes(a_law), "not plain PCM"),
        "stereo": (write_wave(tmp_path / "s.wav", bytes(800), 2, channels=2).read_bytes(), "one channel"),
        "broken flac": (b"fLaC" + bytes(100), "damaged"),
    }
    for name, (content, words) in files.items():
        path = tmp_path / f"{name}.wav"
        path.write_bytes(content)
        with pytest.raises(DataError, match=words):
            read_sound(path)
    with pytest.raises(DataError, match="could not be read"):
        read_sound(tmp_path / "absent.wav")
    with pytest.raises(DataError, match="could not be read"):
        read_sound(tmp_path)


def test_a_flac_that_is_cut_or_stereo_is_refused(tmp_path: Path) -> None:
    soundfile = pytest.importorskip("soundfile")
    path = tmp_path / "a.flac"
    noise = np.random.default_rng(0).integers(-9000, 9000, (40_000, 2)).astype(np.int16)
    soundfile.write(path, noise, 8000)
    with pytest.raises(DataError, match="more than one channel"):
        read_sound(path)
    soundfile.write(path, noise[:, 0], 8000)
    path.write_bytes(path.read_bytes()[:-20_000])
    with pytest.raises(DataError, match=r"cut short|damaged"):
        read_sound(path)
