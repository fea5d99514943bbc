"""What a report says of word models: the states of every word, and which words sound alike."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from discreet.report.canvas import DAY, Colours, make_figure, plain, to_png, trim
from discreet.report.face import Face, figure, long_table, snippet
from discreet.report.paper import short
from discreet.report.tables import table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.report.words import WordsPaper

__all__ = ["draw_words", "face_words"]

_WIDE = 6.4
_NAMED = 40  # words whose names fit beside a picture


def face_words(paper: WordsPaper) -> Face:
    """The face of word models."""
    made = paper.vocabulary
    loading = (
        "from discreet.fit import WordModels\n\n"
        'models = WordModels.load("this-folder")\nmodels.predict(["a.wav"]), models.scores(["a.wav"])'
    )
    names = ", ".join(f'tensors["{name}"]' for name in sorted(made.tensors()))
    return Face(
        f"Models of {len(made.words)} words",
        f"{made.states} states",
        figure(partial(draw_words, paper), _told(paper), _explained(paper)),
        _words(paper),
        _facts(paper),
        snippet(loading, names),
    )


def draw_words(paper: WordsPaper, colours: Colours = DAY) -> bytes:
    """The picture of a report, as PNG: the states of every word to the left, distances to the right."""
    high = min(9.0, max(2.6, 0.26 * len(paper.vocabulary.words) + 1.2))
    drawing = make_figure(_WIDE, high, colours)
    left, right = drawing.subplots(1, 2, width_ratios=[1.5, 1])
    _draw_states(left, paper, colours)
    _draw_distances(right, paper, colours)
    return to_png(drawing)


def _draw_states(axes: Axes, paper: WordsPaper, colours: Colours) -> None:
    centers = paper.centers
    words, states, columns = centers.shape
    lines = centers.reshape(words * states, columns)
    if paper.vocabulary.symbols:
        axes.imshow(np.sqrt(lines), aspect="auto", cmap="Greys", interpolation="nearest")
        axes.set_xlabel("symbol")
    else:
        most = max(float(np.abs(lines).max()), 1e-9)
        axes.imshow(lines, aspect="auto", cmap="RdBu", vmin=-most, vmax=most, interpolation="nearest")
        axes.set_xlabel("feature")
    trim(axes, colours)
    for edge in range(1, words):
        axes.axhline(edge * states - 0.5, color=colours.paper, linewidth=1.2)
    _name(axes, paper, (np.arange(words) + 0.5) * states - 0.5)


def _draw_distances(axes: Axes, paper: WordsPaper, colours: Colours) -> None:
    distances = np.nan_to_num(
        paper.distances, posinf=np.nanmax(np.where(np.isfinite(paper.distances), paper.distances, 0))
    )
    axes.imshow(np.log1p(np.maximum(distances, 0)), aspect="auto", cmap="Greys_r", interpolation="nearest")
    trim(axes, colours)
    _name(axes, paper, np.arange(len(distances)))
    axes.set_xticks([])
    axes.set_xlabel("compared with (same order)")


def _name(axes: Axes, paper: WordsPaper, places: np.ndarray) -> None:
    names = [plain(word, 12) for word in paper.vocabulary.words]
    if len(names) <= _NAMED:
        axes.set_yticks(places.tolist(), names)


def _told(paper: WordsPaper) -> str:
    return (
        f"Picture of the models of {len(paper.vocabulary.words)} words: what each of their "
        f"{paper.vocabulary.states} states emits, and how far the words are apart."
    )


def _explained(paper: WordsPaper) -> str:
    what = "how likely each symbol is" if paper.vocabulary.symbols else "the mean of each feature"
    return (
        f"To the left, {what} in the states of every word, one line a state, from first to last. To the "
        "right, the darker the more two words sound alike: how far the model of one is behind on features "
        "drawn from the model of the other."
    )


def _words(paper: WordsPaper) -> str:
    head = [
        "<th>no.</th>",
        '<th class="name">word</th>',
        "<th>frames</th>",
        '<th class="name">most like</th>',
    ]
    head.append("<th>behind by, nats a frame</th>")
    rows: list[str] = []
    for number, word in enumerate(paper.vocabulary.words):
        near = paper.nearest(number)
        other = "" if near is None else escape(short(paper.vocabulary.words[near]))
        apart = "" if near is None else f"{float(paper.distances[number, near]):.3g}"
        rows.append(
            f'<td>{number}</td><td class="name">{escape(short(word))}</td><td>{paper.lengths[number]}</td>'
            f'<td class="name">{other}</td><td>{apart}</td>'
        )
    return (
        f"<h2>Words</h2>\n{long_table(table(head, rows), len(rows))}\n"
        '<p class="note">Frames and distances follow from the released models alone: from features that were '
        "drawn from them. Real recordings are harder to tell apart.</p>"
    )


def _facts(paper: WordsPaper) -> tuple[tuple[str, str], ...]:
    receipt, made = paper.receipt, paper.vocabulary
    sound = made.front.get("sound") if isinstance(made.front, dict) else None
    rate = (
        f"{sound['rate']} samples a second, {sound['ceps']} cepstra, {sound['deltas']} slopes"
        if sound
        else ""
    )
    longest = receipt.get("max_frames")
    return (
        ("Emissions", made.emissions),
        ("Topology", made.topology),
        ("Features", rate),
        ("Rounds", str(receipt.get("rounds", ""))),
        ("Longest recording", "" if longest is None else f"{longest} frames (what lies beyond was left out)"),
    )
