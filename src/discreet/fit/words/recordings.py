"""Recordings as callers hand them over: samples, or files; and what was said, and by whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.errors import DataError
from discreet.models.vocabulary import check_words
from discreet.records.person import plain_ids
from discreet.speech.sound import read_one

if TYPE_CHECKING:
    from discreet.speech.front import Front

__all__ = ["Labels", "listed", "make_features", "read_labels"]


@dataclass(frozen=True, eq=False, repr=False)
class Labels:
    """The words in the order of the models, the number of the word of each recording, and who spoke."""

    words: tuple[str, ...]
    spoken: np.ndarray[Any, np.dtype[np.intp]]
    speakers: tuple[Any, ...] | None

    def of(self, word: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """The numbers of the recordings of a word."""
        return np.flatnonzero(self.spoken == word)


def listed(recordings: Any) -> list[Any]:
    """Recordings as a list; a single one is refused, which would pass for a list of its samples."""
    if isinstance(recordings, str | bytes | Path) or not isinstance(recordings, Sequence | np.ndarray):
        raise DataError(
            "recordings are not a list", got=type(recordings).__name__, wanted="a list of arrays or paths"
        )
    return list(recordings)


def read_labels(recordings: list[Any], words: Any, speakers: Any, vocabulary: Sequence[str] | None) -> Labels:
    """What was said in each recording, and by whom. Undeclared words are refused where words are declared."""
    said = [_word(word) for word in words]
    if len(said) != len(recordings) or not said:
        raise DataError(
            "the words do not fit the recordings", wanted="one word for each recording, at least one"
        )
    known = tuple(vocabulary) if vocabulary is not None else tuple(sorted(set(said)))
    check_words(known)
    if not set(said) <= set(known):
        raise DataError(
            "a recording says a word that was not declared",
            wanted="words of the vocabulary",
            remedy="Declare every word that is said, or leave out the recordings of others.",
        )
    if set(said) != set(known):
        raise DataError(
            "a declared word has no recording", remedy="Leave the word out, or record it at least once."
        )
    place = {word: number for number, word in enumerate(known)}
    people = None if speakers is None else _people(speakers)
    if people is not None and len(people) != len(recordings):
        raise DataError("the speakers do not fit the recordings", wanted="one for each recording")
    return Labels(known, np.array([place[word] for word in said], dtype=np.intp), people)


def make_features(recordings: Sequence[Any], front: Front) -> list[Any]:
    """The features of each recording."""
    return [front.prepare(read_one(recording, front.rate)) for recording in recordings]


def _word(word: object) -> str:
    plain = word.item() if isinstance(word, np.generic) else word
    if isinstance(plain, str):
        return plain
    if isinstance(plain, int) and not isinstance(plain, bool):
        return str(plain)
    raise DataError("a word is not text", got=type(plain).__name__, wanted="text, or whole numbers")


def _people(speakers: Any) -> tuple[Any, ...]:
    """Who spoke, all of one type: the number 1 and the text "1" would pass for two people."""
    try:
        ids = plain_ids(pa.array(list(speakers), from_pandas=True), "speakers")
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("speakers mix types", wanted="integers or text") from None
    return tuple(ids.to_pylist())
