"""Sound files: WAV by the standard library, FLAC by the optional soundfile (`discreet[speech]`)."""

from __future__ import annotations

import os
import wave
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DataError, RequestError
from discreet.speech.frames import frame_count

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

__all__ = ["read_one", "read_sound"]

_BLOCK = 2**20
_HEAD = 2**16  # the format stands before the samples
_EXTENSIBLE, _PCM = b"\xfe\xff", bytes.fromhex("0100000000001000800000aa00389b71")


def read_sound(path: str | Path) -> tuple[NDArray[np.float64], int]:
    """The samples of a recording with one channel, as floats in [-1, 1), and its sampling rate.

    WAV with 8, 16, 24 or 32 bits of PCM, and FLAC; told apart by their first bytes, not by their names.
    """
    path = Path(path)
    with _reading(path):
        with path.open("rb") as file:
            head = file.read(12)
        if head[:4] == b"RIFF" and head[8:] == b"WAVE":
            return _read_wave(path)
        if head[:4] == b"fLaC":
            return _read_flac(path)
    raise DataError(f"{path.name} is not a sound file that can be read", wanted="WAV (PCM) or FLAC")


def read_one(recording: Any, rate: int | None) -> Any:
    """What a recording holds: a file's samples, whose rate must be the declared one, or the array itself."""
    if not isinstance(recording, str | os.PathLike):
        return recording
    if rate is None:
        raise DataError("points and symbols are not read from sound files", wanted="arrays")
    path = Path(os.fspath(recording))
    samples, found = read_sound(path)
    if found != rate:
        raise DataError(
            f"{path.name} has another sampling rate",
            got=f"{found} samples a second",
            wanted=str(rate),
            remedy="Resample the recording, or use models of its rate, if that is 8000 or 16000.",
        )
    if not frame_count(len(samples), rate):
        raise DataError(f"{path.name} is shorter than one frame", wanted="at least 25 ms")
    return samples


@contextmanager
def _reading(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise DataError(f"{path.name} could not be read: {reason}") from None
    except (wave.Error, EOFError):
        raise DataError(
            f"{path.name} is damaged or not plain PCM",
            wanted="WAV with 8, 16, 24 or 32 bits of PCM",
            remedy="Save it as WAV with 16 bits, or as FLAC.",
        ) from None


def _read_wave(path: Path) -> tuple[NDArray[np.float64], int]:
    with wave.open(_as_plain(path), "rb") as file:
        _check_mono(path, file.getnchannels())
        width, count, rate = file.getsampwidth(), file.getnframes(), file.getframerate()
        if width > 4:
            raise wave.Error
        if count * width > path.stat().st_size:  # before memory is taken for what the header promises
            raise DataError(f"{path.name} is cut short", remedy="Copy or save it again.")
        content = np.frombuffer(file.readframes(count), dtype=np.uint8)
    if content.size < count * width:
        raise DataError(f"{path.name} is cut short", remedy="Copy or save it again.")
    if width == 1:
        return (content.astype(np.float64) - 128) / 128, rate
    wide = np.zeros((count, 4), dtype=np.uint8)
    wide[:, 4 - width :] = content.reshape(count, width)  # little-endian: the lowest bytes come first
    return wide.view("<i4")[:, 0] / 2.0**31, rate


def _as_plain(path: Path) -> str | BytesIO:
    """The path; or the content with the tag of plain PCM, where it is PCM under the extensible tag.

    Many programs write 24 and 32 bits so, and `wave` of Python 3.11 does not know it.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    at = len(b"RIFF....WAVE")
    while at + 8 <= len(head) and head[at : at + 4] != b"fmt ":
        at += 8 + (size := int.from_bytes(head[at + 4 : at + 8], "little")) + size % 2
    if head[at + 8 : at + 10] != _EXTENSIBLE or head[at + 32 : at + 48] != _PCM:
        return str(path)
    content = bytearray(path.read_bytes())
    content[at + 8 : at + 10] = b"\x01\x00"
    return BytesIO(content)


def _read_flac(path: Path) -> tuple[NDArray[np.float64], int]:
    soundfile = _soundfile()
    blocks: list[NDArray[np.float64]] = []
    try:
        with soundfile.SoundFile(str(path)) as file:
            _check_mono(path, file.channels)
            while len(block := file.read(_BLOCK, dtype="float64")):
                blocks.append(block)
            rate, count = int(file.samplerate), int(file.frames)
    except soundfile.SoundFileError:
        raise DataError(f"{path.name} is damaged", wanted="FLAC", remedy="Copy or save it again.") from None
    samples = np.concatenate(blocks) if blocks else np.zeros(0)
    if len(samples) < count:
        raise DataError(f"{path.name} is cut short", remedy="Copy or save it again.")
    return samples, rate


def _soundfile() -> Any:
    try:
        import soundfile
    except (ImportError, OSError):
        raise RequestError(
            "FLAC files are read by the package soundfile, which is not here",
            remedy='Install it with `pip install "discreet[speech]"`, or save the recording as WAV.',
        ) from None
    return soundfile


def _check_mono(path: Path, channels: int) -> None:
    if channels != 1:
        raise DataError(
            f"{path.name} has more than one channel",
            got=f"{channels} channels",
            wanted="one",
            remedy="Save one channel, or the mean of all, as a file of its own.",
        )
