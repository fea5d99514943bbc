"""Labelled recordings in folders: three layouts, parts of files, and refusals that name the file."""

from __future__ import annotations

import itertools
import wave
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import DataError, ParameterError
from discreet.jobs.recordings import check_folder, find_audio, find_recordings, read_recordings, split_name
from discreet.jobs.tones import NAMES, make_tones, melody, speak


def write(path: Path, count: int = 800, rate: int = 8000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes((np.arange(count) % 1000).astype("<i2").tobytes())
    return path


def test_names_say_word_and_speaker(tmp_path: Path) -> None:
    for name in ("yes_ann_1.wav", "no_bob_0.wav", "turn_left_ann_0.wav"):
        write(tmp_path / name)
    (tmp_path / "notes.txt").write_text("not a recording")
    found = find_recordings(tmp_path, "names")
    assert [(one.word, one.speaker) for one in found] == [("no", "bob"), ("turn_left", "ann"), ("yes", "ann")]
    write(tmp_path / "hello.wav")
    with pytest.raises(DataError, match=r"hello\.wav does not say"):
        find_recordings(tmp_path, "names")
    assert split_name(Path("a_b.wav")) is None and split_name(Path("__1.wav")) is None


def test_folders_say_the_word(tmp_path: Path) -> None:
    for name in ("yes/ann_1.wav", "no/bob_0.wav", "no/7.wav"):
        write(tmp_path / name)
    found = find_recordings(tmp_path, "folders")
    assert [(one.word, one.speaker) for one in found] == [("no", None), ("no", "bob"), ("yes", "ann")]


def test_an_index_says_where_in_which_file_a_recording_lies(tmp_path: Path) -> None:
    write(tmp_path / "all.wav", 2000)
    write(tmp_path / "one.wav", 300)
    rows = ["all.wav,0,500,1,ann,train", "all.wav,500,700,2,bob,train", "one.wav,,,1,bob,train"]
    (tmp_path / "index.csv").write_text(
        "\n".join(["file,start,frames,digit,who,split", *rows, "all.wav,0,9,3,x,test"])
    )
    found = find_recordings(tmp_path, "index", word="digit", speaker="who", where=("split", "train"))
    assert [(one.word, one.speaker) for one in found] == [("1", "ann"), ("2", "bob"), ("1", "bob")]
    samples = read_recordings(found, 8000)
    assert [len(part) for part in samples] == [500, 700, 300]
    np.testing.assert_array_equal(samples[1] * 32768, np.arange(500, 1200) % 1000)
    assert len(find_recordings(tmp_path, "index", word="digit")) == 4


BAD_ROWS = {
    "shorter than a frame": ("all.wav,0,199,1", "all.wav holds a recording shorter than one frame"),
    "outside": ("../secret.wav,0,9,1", "outside the folder"),
    "elsewhere": ("/etc/passwd,0,9,1", "outside the folder"),
    "start is text": ("all.wav,a,9,1", "no numbers"),
    "start is negative": ("all.wav,-1,9,1", "cannot be"),
    "no frames": ("all.wav,5,,1", "cannot be"),
    "frames 0": ("all.wav,0,0,1", "cannot be"),
    "too long": ("all.wav,0,9999,1", "shorter than the index says"),
    "absent": ("gone.wav,0,9,1", "could not be read"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_of_an_index_are_refused(tmp_path: Path, case: str) -> None:
    write(tmp_path / "all.wav", 2000)
    row, match = BAD_ROWS[case]
    (tmp_path / "index.csv").write_text(f"file,start,frames,word\n{row}\n")
    with pytest.raises(DataError, match=match):
        read_recordings(find_recordings(tmp_path, "index"), 8000)


def test_folders_without_recordings_and_wrong_layouts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no such layout"):
        find_recordings(tmp_path, "guess")
    with pytest.raises(DataError, match="not there"):
        find_recordings(tmp_path / "absent", "names")
    assert check_folder(tmp_path) == tmp_path
    for layout in ("names", "folders"):
        with pytest.raises(DataError, match="no recordings"):
            find_recordings(tmp_path, layout)
    with pytest.raises(DataError, match=r"no index\.csv"):
        find_recordings(tmp_path, "index")
    (tmp_path / "index.csv").write_text("file,spoken\na.wav,yes\n")
    with pytest.raises(DataError, match="no column 'word'"):
        find_recordings(tmp_path, "index")
    with pytest.raises(DataError, match="no recordings"):
        find_recordings(tmp_path, "index", word="spoken", where=("file", "b.wav"))
    with pytest.raises(ParameterError, match="only an index"):
        find_recordings(tmp_path, "names", where=("a", "b"))
    (tmp_path / "index.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="cannot be read"):
        find_recordings(tmp_path, "index")


def test_another_rate_and_folders_of_sound(tmp_path: Path) -> None:
    write(tmp_path / "yes_ann_1.wav", rate=16000)
    with pytest.raises(DataError, match="another sampling rate"):
        read_recordings(find_recordings(tmp_path, "names"), 8000)
    assert len(read_recordings(find_recordings(tmp_path, "names"), 16000)) == 1
    assert find_audio([str(tmp_path)]) == [tmp_path / "yes_ann_1.wav"]
    (tmp_path / "empty").mkdir()
    for paths in ([], [str(tmp_path / "empty")]):
        with pytest.raises(DataError):
            find_audio(paths)


def test_tones_are_the_same_for_the_same_seed_and_differ_otherwise(tmp_path: Path) -> None:
    first, again, other = (
        make_tones(str(tmp_path / name), words=3, speakers=2, takes=3, seed=seed)
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert (first.train, first.test, first.words) == (12, 6, NAMES[:3])
    for path in sorted(first.out.rglob("*.wav")):
        name = path.relative_to(first.out)
        assert path.read_bytes() == (again.out / name).read_bytes()
        assert path.read_bytes() != (other.out / name).read_bytes()
    found = find_recordings(first.out / "train", "names")
    assert {one.speaker for one in found} == {"s0", "s1"} and len(read_recordings(found, 8000)) == 12


def test_melodies_differ_and_takes_are_as_long_as_speech() -> None:
    assert len({melody(word) for word in range(len(NAMES))}) == len(NAMES) == 20
    draw = np.random.default_rng(0)
    for word in range(20):
        sounds = melody(word)
        assert all(one != next for one, next in itertools.pairwise(sounds))
        samples = speak(sounds, 1.0, 1.0, 0.5, 10.0, draw)
        assert (
            samples.dtype == np.int16 and 1600 < len(samples) < 16000 and 3000 < np.abs(samples).max() < 32767
        )


@pytest.mark.parametrize(
    "settings", [{"words": 0}, {"words": 21}, {"speakers": 0}, {"takes": 1}, {"noise": float("nan")}], ids=str
)
def test_tones_that_cannot_be_made_are_refused(tmp_path: Path, settings: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        make_tones(str(tmp_path / "new"), **settings)  # type: ignore[arg-type]
    assert not (tmp_path / "new").exists()


def test_tones_replace_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("keep")
    with pytest.raises(ParameterError, match="taken"):
        make_tones(str(tmp_path), words=1, speakers=1, takes=2)
    assert (tmp_path / "mine").read_text() == "keep"
