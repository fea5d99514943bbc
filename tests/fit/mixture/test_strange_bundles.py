"""Folders that come from strangers: consistent in their digests, and wrong in what they hold."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from discreet.errors import BundleError
from discreet.fit import GaussianMixture
from discreet.jobs import show_bundle

SOUND: dict[str, Any] = {
    "weights": np.array([0.25, 0.75]),
    "means": np.zeros((2, 2)),
    "covariances": np.stack([np.eye(2), 2 * np.eye(2)]),
}
LARGE = 20_000  # columns: a full matrix would take 3 GB

STRANGE: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a tensor is missing": ({"means": None}, {}, "description"),
    "not a number": ({"weights": np.array([np.nan, 1.0])}, {}, "64-bit numbers"),
    "whole numbers": ({"means": np.zeros((2, 2), dtype=np.int64)}, {}, "64-bit numbers"),
    "half precision": ({"means": np.zeros((2, 2), dtype=np.float32)}, {}, "64-bit numbers"),
    "more weights than means": ({"weights": np.full(3, 1 / 3)}, {}, "do not fit"),
    "other columns than described": (
        {"means": np.zeros((2, 3)), "covariances": np.stack([np.eye(3)] * 2)},
        {},
        "do not fit",
    ),
    "an unknown type": ({}, {"covariance_type": "round"}, "description"),
    "a type of another shape": ({}, {"covariance_type": "diag"}, "do not fit"),
    "a covariance that is none": ({"covariances": np.zeros((2, 2, 2))}, {}, "positive definite"),
    "weights below zero": ({"weights": np.array([1.5, -0.5])}, {}, "sum to one"),
    "weights of nothing": ({"weights": np.zeros(2)}, {}, "sum to one"),
    "more than memory holds": (
        {"weights": np.ones(1), "means": np.zeros((1, LARGE)), "covariances": np.ones((1, LARGE))},
        {"covariance_type": "diag", "columns": LARGE},
        "memory",
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = np.random.default_rng(0).normal(size=(100, 2))
    model = GaussianMixture(2, epsilon=1.0, delta=1e-5, radius=5.0, n_rounds=1, random_state=0)
    return model.fit(rows).save(tmp_path / "model")


def forge(folder: Path, blob: bytes, changes: dict[str, Any]) -> None:
    """Put other tensors in, with digests that fit."""
    model, receipt = (json.loads((folder / name).read_text()) for name in ("model.json", "receipt.json"))
    model["sha256"] = receipt["account"]["digest"] = hashlib.sha256(blob).hexdigest()
    if "columns" in changes:
        model["domain"]["columns"] = [f"c{index}" for index in range(changes.pop("columns"))]
    model["parameters"].update(changes)
    (folder / "model.safetensors").write_bytes(blob)
    (folder / "model.json").write_text(json.dumps(model))
    (folder / "receipt.json").write_text(json.dumps(receipt))


def refused(folder: Path, words: str) -> None:
    for read in (GaussianMixture.load, show_bundle):
        with pytest.raises(BundleError, match=words):
            read(folder)


def test_a_forged_folder_that_is_consistent_loads(folder: Path) -> None:
    forge(folder, save(SOUND), {})
    assert GaussianMixture.load(folder).weights_.tolist() == [0.25, 0.75]
    assert show_bundle(folder).paper.mixture.dimension == 2


@pytest.mark.parametrize("case", STRANGE)
def test_tensors_that_are_no_mixture_are_refused(folder: Path, case: str) -> None:
    tensors, changes, words = STRANGE[case]
    chosen = {name: tensor for name, tensor in {**SOUND, **tensors}.items() if tensor is not None}
    forge(folder, save(chosen), dict(changes))
    refused(folder, words)


def test_bytes_that_are_no_tensors_are_refused(folder: Path) -> None:
    forge(folder, b"not tensors at all", {})
    refused(folder, "cannot be read")


def test_a_description_without_a_method_is_refused(folder: Path) -> None:
    model = json.loads((folder / "model.json").read_text())
    del model["parameters"]["method"]
    (folder / "model.json").write_text(json.dumps(model))
    refused(folder, "description")


def test_a_card_that_is_no_text_is_refused(folder: Path) -> None:
    (folder / "MODEL_CARD.md").write_bytes(b"\xff\xfe")
    refused(folder, "cannot be read")
