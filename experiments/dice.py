"""Figures 5 to 12 of paper 000: its two published variants, and the methods that are private, on one axis.

"Noise at the end" is not differentially private at the epsilon of the axis (`experiments.dice_violation`
measures by how much); "noise every time" spends more than it (`experiments.unsound` says where). The private
methods are those of `CategoricalHMM`, at the epsilon of the axis and delta 1e-6.

Similarity is that to plain training from the same start on the same sequences, the paper's only measure.
Beside it stands what one actually wants: the likelihood of sequences that no model has seen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from discreet.fit.hmm.data import Sequences
from discreet.models.hmm import HMM
from experiments.casino import Judge, fit_private, make_skeleton, make_throws, make_truth, train
from experiments.places import OUT, write_table
from experiments.unsound import ROUNDS, noise_at_the_end_not_private, noise_every_time_as_published

STATES, LENGTHS, SIZES = (2, 3), (10, 20, 30), (100, 200, 300)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0)
RUNS = 3
WINDOWS = (20, 300, (1.0, 5.0))  # fits to windows take long: one length, size and pair of budgets, one run
FRESH = 1000
AT_THE_END = "published, noise at the end: NOT PRIVATE"
EVERY_TIME = "published, noise every time"
METHODS = ("score", "iterate")
STYLES = {
    AT_THE_END: ("C3", ":", "x"),
    EVERY_TIME: ("C1", ":", "+"),
    "score": ("C0", "-", "o"),
    "iterate": ("C2", "-", "s"),
    "moments": ("C4", "-", "^"),
    "skeleton": ("0.5", "--", ""),
}
Key = tuple[int, int, int, str, float]
Found = dict[Key, list[tuple[float, float]]]
NOTE = (
    "Dice models of paper 000, {rounds} rounds of plain training, skeleton 0.7 truth and 0.3 random, "
    "mean over L = 10, 20, 30 and D = 100, 200, 300, runs: {runs} (moments: one run of L = 20, D = "
    "300). Similarity to plain training on fresh sequences under the best naming of states, percent / "
    "excess held-out log-likelihood a symbol against plain training, nats. score, iterate, moments: "
    "delta 1e-6."
)


def run(folder: Path, quick: bool) -> str:
    """All cells of the grid, seed by seed; tables and pictures are written after each."""
    found: Found = {}
    text = ""
    lengths, sizes, epsilons = ((10,), (100,), (0.5, 5.0)) if quick else (LENGTHS, SIZES, EPSILONS)
    for seed in range(1 if quick else RUNS):
        for states in STATES:
            for length in lengths:
                for count in sizes:
                    add(found, compare(states, length, count, seed, epsilons, METHODS))
                    if seed == 0 and (length, count) == WINDOWS[:2]:
                        windows = compare(states, length, count, seed, WINDOWS[2], ("moments",))
                        add(found, {key: value for key, value in windows.items() if "moments" in key})
        text = write(found, seed + 1)
    return text


def add(found: Found, one: dict[Key, tuple[float, float]]) -> None:
    """Put the figures of one run to the others."""
    for key, values in one.items():
        found.setdefault(key, []).append(values)


def compare(
    states: int, length: int, count: int, seed: int, epsilons: tuple[float, ...], methods: tuple[str, ...]
) -> dict[Key, tuple[float, float]]:
    """One run of one cell: similarity and excess by method and epsilon."""
    draw = np.random.default_rng([8, states, length, count, seed])
    truth = make_truth(states)
    throws = make_throws(truth, np.full(count, length), draw)
    fresh = make_throws(truth, np.full(FRESH, length), draw)
    start = make_skeleton(truth, "near", draw)
    judge = Judge.of(train(start, throws, ROUNDS), fresh)
    one: dict[Key, tuple[float, float]] = {}
    for epsilon in epsilons:
        models = {"skeleton": start} | _fit_all(start, throws, epsilon, seed, methods, draw)
        for name, model in models.items():
            one[states, length, count, name, epsilon] = (judge.similarity(model), judge.excess(model))
    return one


def write(found: Found, runs: int) -> str:
    """The table of every cell, the summary, and the pictures."""
    heads = sorted({epsilon for *_, epsilon in found})
    cells = []
    for states, length, count, name in dict.fromkeys(key[:4] for key in found):
        cell: dict[str, Any] = {"states": states, "L": length, "D": count, "method": name}
        here = {epsilon: found.get((states, length, count, name, epsilon), []) for epsilon in heads}
        cell["runs"] = max(map(len, here.values()))
        for epsilon, values in here.items():
            similarity, excess = np.mean(values, axis=0).tolist() if values else (None, None)
            cell[f"similarity, epsilon {epsilon:g}"] = similarity
            cell[f"excess, epsilon {epsilon:g}"] = excess
        cells.append(cell)
    note = NOTE.format(rounds=ROUNDS, runs=runs)
    write_table("dice_cells", cells, note)
    for states in STATES:
        here = [cell for cell in cells if cell["states"] == states]
        _draw(here, heads, f"dice_similarity_{states}", "similarity")
        _draw(here, heads, f"dice_excess_{states}", "excess")
    return write_table("dice", _summary(cells, heads), note)


def _fit_all(
    start: HMM,
    throws: Sequences,
    epsilon: float,
    seed: int,
    methods: tuple[str, ...],
    draw: np.random.Generator,
) -> dict[str, HMM]:
    models = {
        AT_THE_END: noise_at_the_end_not_private(start, throws, epsilon, draw),
        EVERY_TIME: noise_every_time_as_published(start, throws, epsilon, draw),
    }
    longest = int(throws.lengths.max())
    for method in methods:
        models[method] = fit_private(
            start, throws, epsilon=epsilon, max_length=longest, method=method, random_state=seed
        )
    return models


def _summary(cells: list[dict[str, Any]], epsilons: list[float]) -> list[dict[str, Any]]:
    rows = []
    for states, name in dict.fromkeys((cell["states"], cell["method"]) for cell in cells):
        here = [cell for cell in cells if (cell["states"], cell["method"]) == (states, name)]
        row: dict[str, Any] = {"states": states, "method": name}
        for epsilon in epsilons:
            heads = (f"similarity, epsilon {epsilon:g}", f"excess, epsilon {epsilon:g}")
            known = [[cell[head] for head in heads] for cell in here if cell[heads[0]] is not None]
            shown = "{:.1f} / {:.4f}".format(*np.mean(known, axis=0)) if known else None
            row[f"epsilon {epsilon:g}"] = shown
        rows.append(row)
    return rows


def _draw(cells: list[dict[str, Any]], epsilons: list[float], name: str, measure: str) -> None:
    """One panel for each length and number of sequences, one curve for each method."""
    lengths, sizes = sorted({cell["L"] for cell in cells}), sorted({cell["D"] for cell in cells})
    figure = Figure(figsize=(3 + 3 * len(sizes), 2.3 + 2.4 * len(lengths)), layout="constrained")
    panels = figure.subplots(len(lengths), len(sizes), sharex=True, sharey=True, squeeze=False)
    for cell in cells:
        axes = panels[lengths.index(cell["L"])][sizes.index(cell["D"])]
        color, line, marker = STYLES[cell["method"]]
        points = [(epsilon, cell[f"{measure}, epsilon {epsilon:g}"]) for epsilon in epsilons]
        known = [(epsilon, value) for epsilon, value in points if value is not None]
        values = [max(value, 1e-4) if measure == "excess" else value for _, value in known]
        axes.plot(
            [epsilon for epsilon, _ in known],
            values,
            line,
            color=color,
            marker=marker,
            ms=5,
            lw=1.7,
            label=cell["method"],
        )
        axes.set_title(f"L = {cell['L']}, D = {cell['D']}", loc="left", fontsize=10, fontweight="bold")
    for axes in panels.ravel():
        axes.set_xscale("log")
        axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axes.minorticks_off()
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        if measure == "excess":
            axes.set_yscale("log")
        else:
            axes.set_ylim(25 if cells[0]["states"] == 3 else 45, 101)
    every = {label: handle for axes in panels.ravel() for handle, label in zip(*_legend(axes), strict=True)}
    ordered = [label for label in STYLES if label in every]
    figure.legend(
        [every[label] for label in ordered], ordered, loc="outside upper center", ncols=3, frameon=False
    )
    figure.supxlabel("epsilon (private methods: delta 1e-6)", fontsize=10)
    words = {
        "similarity": "similarity to plain training, percent",
        "excess": "held-out log-likelihood lost a symbol, nats (log scale)",
    }
    figure.supylabel(f"{words[measure]}; {cells[0]['states']} states", fontsize=10)
    OUT.mkdir(parents=True, exist_ok=True)
    figure.savefig(OUT / f"{name}.png", dpi=130)


def _legend(axes: Any) -> tuple[list[Any], list[str]]:
    return axes.get_legend_handles_labels()
