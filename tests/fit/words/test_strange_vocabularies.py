"""Folders from strangers who know the format: whatever they put in, a vocabulary or a refusal."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.bundle import Bundle, front_digest, load_bundle, read_vocabulary, save_bundle, tensor_digest
from discreet.errors import BundleError
from discreet.fit import WordModels
from discreet.speech import Front

WEIRD = (
    *(None, True, False, 0, -1, 1, 2**70, 0.5, -0.0, 1e308, "", "a", "8000", [], [1], [[]], {}, {"a": 1}),
    *([1.0] * 2, [[0.0, 0.0]], ["a", "b"], ["a", "a"], ["a"], [None, None], "full", "tied", float(10**15)),
)


@pytest.fixture(scope="module", params=["points", "symbols", "codebook", "sound"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = np.random.default_rng(0)
    settings: dict[str, Any] = {
        "points": {"input": "points"},
        "symbols": {"input": "symbols", "n_symbols": 4},
        "codebook": {"input": "points", "codebook": 3, "random_state": 0},
        "sound": {"deltas": 0, "ceps": 2},
    }[request.param]
    made: dict[str, Any] = {
        "symbols": [draw.integers(0, 4, 20) for _ in range(6)],
        "sound": [draw.normal(0, 0.1, 2000) for _ in range(6)],
    }
    rows = made.get(request.param, [draw.normal(size=(20, 2)) for _ in range(6)])
    models = WordModels(2, epsilon=float("inf"), **settings).fit(rows, list("aaabbb"))
    return models.save(tmp_path_factory.mktemp("strange") / request.param)


def forged(bundle: Bundle, vocabulary: Any, tensors: dict[str, np.ndarray]) -> Bundle:
    """The bundle with other content, and with digests that fit it."""
    receipt = copy.deepcopy(dict(bundle.receipt))
    receipt["account"]["digest"] = tensor_digest(tensors)
    receipt["front"] = front_digest(vocabulary)
    return Bundle(bundle.kind, tensors, {**bundle.description, "vocabulary": vocabulary}, receipt)


def places(plain: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in nested plain data; of lists only the first and last entries."""
    found = [path] if path else []
    if isinstance(plain, dict):
        for name in plain:
            found += places(plain[name], (*path, name))
    elif isinstance(plain, list) and plain:
        for at in {0, len(plain) - 1}:
            found += places(plain[at], (*path, at))
    return found


def changed(plain: Any, path: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy(plain)
    inner = made
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return made


def test_any_other_description_is_a_vocabulary_or_refused(folder: Path) -> None:
    bundle = load_bundle(folder)
    plain, tensors = bundle.description["vocabulary"], dict(bundle.tensors)
    refused = 0
    for path in places(plain):
        for value in WEIRD:
            strange = json.loads(json.dumps(changed(plain, path, value)))
            try:
                found = read_vocabulary(forged(bundle, strange, tensors))
            except BundleError:
                refused += 1
                continue
            assert Front.of(found.front).alphabet == found.symbols
            assert len(found.words) == len(found.models) == 2
    assert refused > 10 * len(places(plain)), "most are no vocabularies"


def test_any_other_tensors_are_a_vocabulary_or_refused(folder: Path) -> None:
    bundle = load_bundle(folder)
    plain, tensors = bundle.description["vocabulary"], dict(bundle.tensors)
    for name, tensor in tensors.items():
        for strange in (
            tensor[:1],
            tensor[:, :1],
            tensor[..., :1],
            -tensor,
            tensor * 0,
            tensor + 1e300,
            tensor * 1e-300,
            tensor.reshape(-1),
            np.zeros(()),
            np.zeros((0,)),
            np.zeros((2, 0, 2)),
            np.concatenate([tensor, tensor], axis=1),
            tensor[..., None],
        ):
            try:
                found = read_vocabulary(forged(bundle, plain, tensors | {name: strange}))
            except BundleError:
                continue
            assert np.isfinite(found.tensors()[name]).all()
        with pytest.raises(BundleError):
            read_vocabulary(forged(bundle, plain, {one: tensors[one] for one in tensors if one != name}))
    with pytest.raises(BundleError):
        read_vocabulary(forged(bundle, plain, tensors | {"likelihoods": np.zeros(2)}))


def test_a_forged_folder_is_read_from_disk_like_any_other(folder: Path, tmp_path: Path) -> None:
    bundle = load_bundle(folder)
    plain, tensors = bundle.description["vocabulary"], dict(bundle.tensors)
    renamed = {**plain, "words": ["yes", "no"]}
    made = forged(bundle, renamed, tensors)
    description = {name: made.description[name] for name in ("vocabulary", "parameters", "guarantee")}
    place = save_bundle(tmp_path / "forged", Bundle(made.kind, tensors, description, made.receipt))
    assert read_vocabulary(place).words == ("yes", "no"), "digests tell damage, not who wrote a folder"
