"""Hot spots of Gowalla check-ins in New York, per row and per person (system 12)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from matplotlib.figure import Figure

from discreet.domain import Box
from discreet.models.mixture import Mixture
from discreet.records import open_records
from experiments.fits import fit_by, fit_without_noise
from experiments.places import OUT, write_table

REGION = Box((40.484, -74.259), (40.918, -73.701))
COMPONENTS, DELTA = 20, 1e-6
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
NOTE = (
    "Gowalla check-ins in New York, 20 components, delta 1e-6. Mean log-likelihood in coordinates with the "
    "declared box at [-1, 1], over random splits 80/20: of held-out people, each of whom weighs 1 (per "
    "person), or of held-out check-ins (per row). The papers use Los Angeles, which is not obtainable: this "
    "is not a reproduction of that figure."
)


def run(folder: Path, quick: bool) -> str:
    """Fit per row and per person on random splits of people, and write the table and the maps."""
    table = pq.read_table(folder / "location" / "gowalla_nyc.parquet", columns=["user", "lat", "lon"])
    places = np.stack([table["lat"].to_numpy(), table["lon"].to_numpy()], axis=1)
    _, person = np.unique(table["user"].to_numpy(), return_inverse=True)
    scores: dict[tuple[str, float], list[float]] = {}
    shown: dict[str, Mixture] = {}
    for seed in range(1 if quick else 5):
        for unit in ("person", "row"):
            draw, size = np.random.default_rng(seed), person.max() + 1 if unit == "person" else len(person)
            chosen = draw.random(size) < 0.8
            train = chosen[person] if unit == "person" else chosen
            test = places[~train]
            weight = (1 / np.bincount(person))[person[~train]] if unit == "person" else np.ones(len(test))
            ids = person[train] if unit == "person" else None
            records = open_records(places[train], person=ids)
            by_person = unit == "person"
            models = {(f"plain, per {unit}", math.inf): fit_without_noise(records, REGION, COMPONENTS)}
            for epsilon in (0.1, 1.0, 4.0) if quick else EPSILONS:
                for method in ("joint", "published"):
                    models[f"{method}, per {unit}", epsilon] = fit_by(
                        records, REGION, COMPONENTS, epsilon, DELTA, method=method, per_person=by_person
                    )
                models[f"one Gaussian, per {unit}", epsilon] = fit_by(
                    records, REGION, 1, epsilon, DELTA, per_person=by_person
                )
            for key, model in models.items():
                scores.setdefault(key, []).append(_score(model, test, weight))
            if by_person and seed == 0:
                shown = {
                    "Private: epsilon 1 per person": models["joint, per person", 1.0],
                    "Published scheme: epsilon 1 per person": models["published, per person", 1.0],
                    "Plain: not private": models["plain, per person", math.inf],
                }
    _draw_maps(shown)
    rows = _tabulate(scores)
    _draw_curves(rows)
    return write_table("gowalla", rows, NOTE)


def _score(model: Mixture, test: np.ndarray, weight: np.ndarray) -> float:
    densities = model.log_density(test) + np.log(REGION.scale).sum()
    return float(weight @ densities / weight.sum())


def _tabulate(scores: dict[tuple[str, float], list[float]]) -> list[dict[str, Any]]:
    epsilons = sorted({epsilon for _, epsilon in scores if math.isfinite(epsilon)})
    rows = []
    for name in dict.fromkeys(name for name, _ in scores):
        found = {e: scores.get((name, e), scores.get((name, math.inf))) for e in epsilons}
        means = {f"epsilon {e:g}": float(np.mean(values)) for e, values in found.items() if values}
        spread = max(float(np.std(values)) for values in found.values() if values)
        rows.append({"method": name, **means, "largest deviation of a split": spread})
    return rows


def _draw_curves(rows: list[dict[str, Any]]) -> None:
    heads = [head for head in rows[0] if head.startswith("epsilon")]
    epsilons = [float(head.split()[1]) for head in heads]
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, unit in zip(figure.subplots(1, 2, sharey=True), ("person", "row"), strict=True):
        for row in rows:
            if row["method"].endswith(unit):
                axes.plot(
                    epsilons,
                    [row[head] for head in heads],
                    marker="o",
                    ms=4,
                    label=row["method"].split(",")[0],
                )
        axes.set_xscale("log")
        axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axes.minorticks_off()
        axes.set_yticks(range(-3, 4))
        axes.set_title(f"per {unit}", loc="left", fontweight="bold")
        axes.set_xlabel("epsilon (delta 1e-6)")
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
    figure.supylabel("held-out log-likelihood", fontsize=10)
    figure.savefig(OUT / "gowalla.png", dpi=140)


def _draw_maps(models: dict[str, Mixture]) -> None:
    """Densities of the released models alone: no check-in is drawn."""
    OUT.mkdir(parents=True, exist_ok=True)
    latitude = np.linspace(REGION.low[0], REGION.high[0], 260)
    longitude = np.linspace(REGION.low[1], REGION.high[1], 260)
    grid = np.stack(np.meshgrid(latitude, longitude, indexing="ij"), axis=-1).reshape(-1, 2)
    figure = Figure(figsize=(13, 4.6), layout="constrained")
    for axes, (title, model) in zip(figure.subplots(1, len(models)), models.items(), strict=True):
        density = model.log_density(grid).reshape(260, 260) / math.log(10)
        axes.imshow(
            density,
            origin="lower",
            extent=(*longitude[[0, -1]], *latitude[[0, -1]]),
            cmap="magma",
            vmin=-2.5,
            vmax=3.5,
            aspect=1 / math.cos(math.radians(latitude.mean())),
        )
        axes.plot(model.means[:, 1], model.means[:, 0], "o", ms=3, mfc="none", mec="white", mew=0.8)
        axes.set_xlim(*longitude[[0, -1]])
        axes.set_ylim(*latitude[[0, -1]])
        axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    figure.savefig(OUT / "gowalla_map.png", dpi=140)
