"""Finding files and noticing when they change: paths, globs, directories, lists of them."""

from __future__ import annotations

import glob
import stat
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.errors import DataError, TooLargeError

__all__ = ["Stamp", "find_files", "is_path", "kind_of", "reading"]

_KINDS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".csv.gz": "csv"}


@dataclass(frozen=True)
class Stamp:
    """A file as it was when the records were opened; every pass refuses a file that has changed since."""

    path: str
    device: int
    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, path: Path) -> Stamp:
        """Look at a file; refuses what is missing, forbidden or no plain file."""
        with reading(str(path)):
            seen = path.stat()
            if not stat.S_ISREG(seen.st_mode):
                raise DataError(f"{path} is not a plain file", wanted="a Parquet or CSV file")
            if not seen.st_size:
                raise DataError(f"{path} is empty", wanted="columns, and at least one row")
            path.open("rb").close()  # permission is asked now, not in the middle of a run
        return cls(str(path), seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns)

    @property
    def name(self) -> str:
        """The file's name, for messages."""
        return Path(self.path).name

    def verify(self) -> None:
        """Refuse the file if its size, its time or the file behind the name is another than before."""
        if Stamp.of(Path(self.path)) != self:
            raise DataError(
                f"{self.name} has changed since the records were opened",
                remedy="Every pass must see the same rows: open the records again when nobody writes there.",
            )


@contextmanager
def reading(path: str) -> Generator[None]:
    """Turn what the system or Arrow says into our words; Arrow's own words may quote private values."""
    try:
        yield
    except pa.ArrowMemoryError:
        raise TooLargeError(
            f"{path} needs more memory than there is", remedy="Write smaller pages."
        ) from None
    except FileNotFoundError:
        raise DataError(f"there is no file {path}", remedy="Check the path.") from None
    except PermissionError:
        raise DataError(f"{path} may not be read", remedy="Ask its owner for permission to read.") from None
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError):
        raise DataError(
            f"{path} cannot be read",
            wanted=f"an intact {kind_of(path) or 'Parquet or CSV'} file",
            remedy="It is damaged, cut short or of another kind; write it again.",
        ) from None


def is_path(source: Any) -> bool:
    """Whether a source is a path or a non-empty list of paths."""
    if isinstance(source, list | tuple):
        return bool(source) and all(isinstance(item, str | Path) for item in source)
    return isinstance(source, str | Path)


def kind_of(path: str) -> str | None:
    """Either 'parquet' or 'csv', by the ending of the name."""
    return next((kind for ending, kind in _KINDS.items() if path.lower().endswith(ending)), None)


def find_files(source: Any) -> tuple[str, list[Stamp]]:
    """All files of one kind that a path, glob, directory or list of them stands for, and that kind.

    A file given twice is refused, whatever its names: its rows would count twice.
    """
    items: list[str | Path] = list(source) if isinstance(source, list | tuple) else [source]
    stamps = [Stamp.of(path) for item in items for path in _expand(_at_home(item))]
    kinds = {kind_of(stamp.path) for stamp in stamps}
    if None in kinds or len(kinds) > 1:
        raise DataError(
            "cannot tell how to read the files",
            got=sorted({"".join(Path(stamp.path).suffixes[-2:]) for stamp in stamps}),
            wanted="only .parquet files, or only .csv and .csv.gz files",
        )
    seen: set[tuple[int, int]] = set()
    for stamp in stamps:
        if (stamp.device, stamp.inode) in seen:
            raise DataError(
                f"{stamp.name} is given twice", remedy="Its rows would count twice: name it once."
            )
        seen.add((stamp.device, stamp.inode))
    return str(kinds.pop()), stamps


def _at_home(item: str | Path) -> Path:
    try:
        path = Path(item).expanduser()
    except RuntimeError:  # a home folder of nobody
        path = Path(item)
    if "\0" in str(path):
        raise DataError("a path cannot hold the character 0", remedy="Check the path.")
    return path


def _expand(path: Path) -> list[Path]:
    with reading(str(path)):
        if path.is_dir():
            return _inside(path)
        if path.exists() or not glob.has_magic(str(path)):
            return [path]
        # match by name only: a file that cannot be read shall be an error, not a gap
        found = sorted(Path(name) for name in glob.glob(str(path), recursive=True))  # noqa: PTH207
    if not found:
        raise DataError(f"no file matches {path}", remedy="Check the pattern.")
    return [file for match in found for file in (_inside(match) if match.is_dir() else [match])]


def _inside(folder: Path) -> list[Path]:
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "_")))
    nested = next((entry.name for entry in entries if entry.is_dir()), None)
    if nested is not None:
        raise DataError(
            f"{folder} holds a folder, {nested!r}",
            wanted="a folder of Parquet files, none deeper",
            remedy=f"Name the files by a pattern, such as '{folder}/**/*.parquet'.",
        )
    files = [entry for entry in entries if kind_of(entry.name) == "parquet"]
    if not files:
        raise DataError(f"there is no Parquet file in {folder}", remedy="Check the path.")
    return files
