"""Labelled recordings in a folder: which files there are, what is said in each, and by whom.

Three layouts, of which the caller says which it is:

* "names": files WORD_SPEAKER_TAKE.wav (or .flac);
* "folders": a folder for each word, with files SPEAKER_TAKE.wav or any other names;
* "index": a file index.csv with a header; its columns ``file``, ``start`` and ``frames`` say where in which
  file a recording lies (without start and frames: the whole file), others what is said and by whom.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DataError, ParameterError
from discreet.speech import frame_count, read_sound

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "LAYOUTS",
    "Recording",
    "check_folder",
    "find_audio",
    "find_recordings",
    "read_recordings",
    "split_name",
]

LAYOUTS = ("names", "folders", "index")
_ENDINGS = (".wav", ".flac")
_MOST_ROWS = 10_000_000


@dataclass(frozen=True)
class Recording:
    """A recording: a file, or a part of one; the word, and the speaker if there is one."""

    path: Path
    word: str
    speaker: str | None = None
    start: int = 0
    frames: int | None = None


def find_recordings(
    folder: str | Path,
    layout: str,
    *,
    word: str = "word",
    speaker: str = "speaker",
    where: tuple[str, str] | None = None,
) -> list[Recording]:
    """Every labelled recording of a folder, in a fixed order; no sound is read yet.

    ``word`` and ``speaker`` name columns of an index, and ``where`` a column and the value that rows have.
    """
    if layout not in LAYOUTS:
        raise ParameterError("there is no such layout", got=layout, wanted=" or ".join(LAYOUTS))
    home = check_folder(folder)
    if where is not None and layout != "index":
        raise ParameterError("only an index has columns to choose rows by", got=f"layout {layout}")
    if layout == "index":
        found = _from_index(home, word, speaker, where)
    elif layout == "names":
        found = [_named(path) for path in _audio(home)]
    else:
        found = [
            Recording(path, path.parent.name, path.stem.rpartition("_")[0] or None)
            for place in sorted(entry for entry in home.iterdir() if entry.is_dir())
            for path in _audio(place)
        ]
    if not found:
        raise DataError(
            f"there are no recordings in the layout {layout!r}",
            got=str(home),
            wanted={"names": "files WORD_SPEAKER_TAKE.wav", "folders": "a folder for each word"}.get(
                layout, "rows in index.csv"
            ),
            remedy="Say how they are labelled: names, folders or index.",
        )
    return found


def check_folder(folder: str | Path) -> Path:
    """The folder, which must be there."""
    home = Path(folder).expanduser()
    if not home.is_dir():
        raise DataError("the recordings are not there", got=str(home), wanted="a folder")
    return home


def read_recordings(found: list[Recording], rate: int) -> list[NDArray[Any]]:
    """The samples of each recording; every file is read once, and must have the declared rate."""
    samples: list[NDArray[Any] | None] = [None] * len(found)
    order = sorted(range(len(found)), key=lambda at: (str(found[at].path), found[at].start))
    path, whole = None, None
    for at in order:
        one = found[at]
        if whole is None or one.path != path:
            path = one.path
            whole, seen = read_sound(path)
            if seen != rate:
                raise DataError(
                    f"{path.name} has another sampling rate",
                    got=f"{seen} samples a second",
                    wanted=str(rate),
                    remedy="Resample the recordings, or name their rate if it is 8000 or 16000.",
                )
        end = len(whole) if one.frames is None else one.start + one.frames
        if end > len(whole):
            raise DataError(f"{one.path.name} is shorter than the index says", remedy="Copy it again.")
        part = whole[one.start : end]
        if not frame_count(len(part), rate):
            raise DataError(
                f"{one.path.name} holds a recording shorter than one frame",
                wanted="at least 25 ms",
                remedy="Leave it out.",
            )
        samples[at] = part if one.frames is None else part.copy()
    return [part for part in samples if part is not None]


def find_audio(paths: list[str]) -> list[Path]:
    """Sound files: those that are named, and those in the folders that are named."""
    found: list[Path] = []
    for name in paths:
        path = Path(name).expanduser()
        inside = _audio(path) if path.is_dir() else [path]
        if not inside:
            raise DataError("there are no sound files in this folder", got=str(path), wanted="WAV or FLAC")
        found += inside
    if not found:
        raise DataError("no recording is named", wanted="sound files, or a folder of them")
    return found


def split_name(path: Path) -> tuple[str, str] | None:
    """Word and speaker of a file called WORD_SPEAKER_TAKE."""
    parts = path.stem.rsplit("_", 2)
    return (parts[0], parts[1]) if len(parts) == 3 and all(parts) else None


def _named(path: Path) -> Recording:
    split = split_name(path)
    if split is None:
        raise DataError(
            f"{path.name} does not say what was said",
            wanted="WORD_SPEAKER_TAKE.wav",
            remedy="Rename it, or say that recordings are labelled by folders or by an index.",
        )
    return Recording(path, *split)


def _audio(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in _ENDINGS and path.is_file())


def _from_index(home: Path, word: str, speaker: str, where: tuple[str, str] | None) -> list[Recording]:
    try:
        with (home / "index.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except FileNotFoundError:
        raise DataError("there is no index.csv in the folder", got=str(home)) from None
    except (OSError, UnicodeDecodeError, csv.Error):
        raise DataError("index.csv cannot be read", wanted="a table with a header, in UTF-8") from None
    columns = list(rows[0]) if rows else []
    for name in ("file", word, *([where[0]] if where else [])):
        if name not in columns:
            raise DataError(
                f"index.csv has no column {name!r}",
                got=", ".join(map(str, columns)) or "nothing",
                remedy="Name the columns of words and speakers.",
            )
    chosen = rows if where is None else [row for row in rows if row[where[0]] == where[1]]
    return [_row(home, row, number, word, speaker) for number, row in enumerate(chosen, start=1)]


def _row(home: Path, row: dict[str, str], number: int, word: str, speaker: str) -> Recording:
    path = home / (row["file"] or "")
    if home.resolve() not in path.resolve().parents:
        raise DataError(f"row {number} of index.csv names a file outside the folder", wanted="a file within")
    try:
        start = int(row["start"]) if row.get("start") else 0
        frames = int(row["frames"]) if row.get("frames") else None
    except (TypeError, ValueError):
        raise DataError(f"row {number} of index.csv has no numbers for start and frames") from None
    if start < 0 or (frames is not None and frames < 1) or (start and frames is None):
        raise DataError(f"row {number} of index.csv has a start or frames that cannot be")
    return Recording(path, row[word], row.get(speaker), start, frames)
