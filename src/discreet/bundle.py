"""A released result as a folder: tensors, description, receipt and model card. Nothing unpickles.

    model.safetensors   the released tensors, by an allow-list of names; nothing else is ever written
    model.json          schema version, kind, parameters, domain, guarantee, digest of the tensors
    receipt.json        plan, spending, versions
    MODEL_CARD.md       the same for people, with loader snippets
    network.bif         Bayesian networks only: the same tables in the format that other programs read
    report.html         pictures

A party of a joint run that receives nothing keeps a folder with its receipt and report alone.

The folder appears whole or not at all: files are written and synced beside it, then renamed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from discreet.models.vocabulary import Vocabulary

__all__ = [
    "SCHEMA",
    "WORDS",
    "Bundle",
    "check_place",
    "front_digest",
    "is_receipt",
    "load_bundle",
    "load_receipt",
    "printable",
    "read_vocabulary",
    "save_bundle",
    "save_receipt",
    "tensor_digest",
]

SCHEMA = 1
WORDS = "words"
"""The kind of a folder that holds a vocabulary."""
_TENSORS, _MODEL, _RECEIPT, _CARD = "model.safetensors", "model.json", "receipt.json", "MODEL_CARD.md"
_FILES = {_TENSORS, _MODEL, _RECEIPT, _CARD, "network.bif", "report.html"}


@dataclass(frozen=True)
class Bundle:
    """What a folder holds: the kind of model, its released tensors, its description and its receipt."""

    kind: str
    tensors: Mapping[str, NDArray[np.float64]]
    description: Mapping[str, Any]
    receipt: Mapping[str, Any]
    card: str = ""
    pages: Mapping[str, str] = field(default_factory=dict[str, str])


def tensor_digest(tensors: Mapping[str, NDArray[np.float64]]) -> str:
    """SHA-256 of the tensors as they would be written."""
    return hashlib.sha256(_serialise(tensors)).hexdigest()


def front_digest(vocabulary: Mapping[str, Any]) -> str:
    """SHA-256 of what the tensors of a vocabulary leave open: its words, in their order, and its front."""
    return hashlib.sha256(json.dumps(vocabulary, sort_keys=True, allow_nan=False).encode()).hexdigest()


def check_place(path: str | Path) -> Path:
    """Refuse a place where a result could not be written; to be asked before anything is spent."""
    target = _place(path)
    above = next(folder for folder in target.parents if folder.exists())
    trial = above / f".{target.name}.{uuid.uuid4().hex}"
    try:  # asking for permission is not enough: some file systems grant it and refuse all the same
        trial.mkdir()
        trial.rmdir()
    except OSError:
        raise BundleError(
            "the place for the result cannot be written", got=str(target), wanted="a folder you may write to"
        ) from None
    return target


def save_bundle(path: str | Path, bundle: Bundle) -> Path:
    """Write the folder; an older bundle at the same place is replaced, anything else is refused.

    If the last step fails, the finished folder is left beside the place, and the error says where.
    """
    target = _place(path)
    blob = _serialise(bundle.tensors)
    model = {
        "schema": SCHEMA,
        "kind": bundle.kind,
        **bundle.description,
        "tensors": sorted(bundle.tensors),
        "sha256": hashlib.sha256(blob).hexdigest(),
    }
    files = {
        _TENSORS: blob,
        _MODEL: _json(model),
        _RECEIPT: _json(bundle.receipt),
        _CARD: bundle.card.encode(),
        **{name: page.encode() for name, page in bundle.pages.items()},
    }
    return _put(target, files)


def save_receipt(path: str | Path, receipt: Mapping[str, Any], pages: Mapping[str, str]) -> Path:
    """Write a folder with a receipt and pages, but no model; what may be replaced is as for a bundle."""
    texts = {name: page.encode() for name, page in pages.items()}
    return _put(_place(path), {_RECEIPT: _json(receipt), **texts})


def is_receipt(path: str | Path) -> bool:
    """Whether this is a receipt alone, or a folder that holds one without a model."""
    place = Path(path)
    return place.is_file() or ((place / _RECEIPT).is_file() and not (place / _MODEL).exists())


def load_receipt(path: str | Path) -> dict[str, Any]:
    """The receipt in such a folder or file, which may come from strangers."""
    place = Path(path)
    try:
        receipt = json.loads((place if place.is_file() else place / _RECEIPT).read_text())
    except (OSError, ValueError, RecursionError):
        raise BundleError("the receipt cannot be read", got=str(path)) from None
    if not isinstance(receipt, dict):
        raise BundleError("the receipt is damaged", got=str(path))
    return _printable(receipt)


def _put(target: Path, files: Mapping[str, bytes]) -> Path:
    """Files beside the place, synced, and then in it."""
    fresh = target.parent / f".{target.name}.{uuid.uuid4().hex}"
    try:
        fresh.mkdir(parents=True)
        for name, content in files.items():
            _write(fresh / name, content)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise BundleError(f"cannot write the result: {error.strerror}", got=str(target)) from None
    try:
        _swap(fresh, target)
    except OSError as error:
        raise BundleError(
            f"cannot put the result in its place: {error.strerror}",
            got=str(target),
            remedy=f"It is whole, in {fresh}.",
        ) from None
    return target


def load_bundle(path: str | Path, kind: str | None = None) -> Bundle:
    """Read a folder back, refusing one that is damaged, altered or of another schema."""
    folder = Path(path)
    if not folder.is_dir():
        raise BundleError(
            "there is no such folder", got=str(folder), wanted="a folder that a fit has written"
        )
    card = folder / _CARD
    try:
        model = json.loads((folder / _MODEL).read_text())
        blob = (folder / _TENSORS).read_bytes()
        receipt = json.loads((folder / _RECEIPT).read_text())
        words = printable(card.read_text()) if card.exists() else ""
    except FileNotFoundError as error:
        name = Path(str(error.filename)).name
        raise BundleError(f"this is not a released model: {name} is missing", got=str(folder)) from None
    except (OSError, ValueError, RecursionError):
        raise BundleError("a file of the released model cannot be read", got=str(folder)) from None
    if not isinstance(model, dict) or model.get("schema") != SCHEMA:
        raise BundleError("the released model has another schema", wanted=f"schema {SCHEMA}")
    if hashlib.sha256(blob).hexdigest() != model.get("sha256"):
        raise BundleError(
            "the tensors do not match the digest in model.json",
            remedy="The folder is damaged or was altered.",
        )
    account = receipt.get("account") if isinstance(receipt, dict) else None
    if not isinstance(account, dict):
        account = {}
    if account.get("digest") != model["sha256"] or account.get("guarantee") != model.get("guarantee"):
        raise BundleError(
            "the receipt is not that of this model",
            remedy="The folder was put together from several results.",
        )
    if not isinstance(model.get("kind"), str) or kind not in (None, model["kind"]):
        raise BundleError(
            "the released model is of another kind", got=model.get("kind"), wanted=kind or "a name"
        )
    return Bundle(model["kind"], _deserialise(blob), _printable(model), _printable(receipt), words)


def read_vocabulary(path: str | Path | Bundle) -> Vocabulary:
    """The vocabulary in a folder, or in a bundle read from one, that may come from strangers.

    Models, words and front are checked, and that they fit each other.
    """
    from discreet.errors import RequestError
    from discreet.models.vocabulary import Vocabulary
    from discreet.speech.front import Front

    bundle = path if isinstance(path, Bundle) else load_bundle(path, WORDS)
    try:
        plain = bundle.description["vocabulary"]
        agrees = front_digest(plain) == bundle.receipt["front"]
        vocabulary = Vocabulary.of(bundle.tensors, plain)
        front = Front.of(vocabulary.front)
    except (RequestError, KeyError, IndexError, TypeError, ValueError):
        raise BundleError("the vocabulary is damaged: its parts do not fit each other") from None
    if not agrees:
        raise BundleError(
            "the words or the front are not those of the receipt", remedy="The folder was altered."
        )
    if front.alphabet != vocabulary.symbols or (not front.alphabet and front.columns != vocabulary.dimension):
        raise BundleError("the front of the vocabulary makes other features than its models take")
    return vocabulary


def printable(text: str) -> str:
    """The text without control characters: folders come from strangers, and terminals obey them."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def _printable(value: Any) -> Any:
    if isinstance(value, dict):
        return {printable(str(name)): _printable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_printable(item) for item in value]
    return printable(value) if isinstance(value, str) else value


def _serialise(tensors: Mapping[str, NDArray[np.float64]]) -> bytes:
    import numpy as np
    from safetensors.numpy import save

    return save({name: np.ascontiguousarray(tensors[name]) for name in sorted(tensors)})


def _deserialise(blob: bytes) -> dict[str, NDArray[np.float64]]:
    """The tensors of a file that may come from strangers: plain float64 numbers, or nothing."""
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors = load(blob)
    except (SafetensorError, KeyError, ValueError):
        raise BundleError("the tensors of the released model cannot be read") from None
    if not all(tensor.dtype == np.float64 and np.isfinite(tensor).all() for tensor in tensors.values()):
        raise BundleError("the tensors of the released model are not made of 64-bit numbers")
    return tensors


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2, allow_nan=False) + "\n").encode()


def _place(path: str | Path) -> Path:
    """The absolute place of a result, which must be free, or taken by an older result."""
    target = Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - a link must stay one
    if target == Path.cwd() or target in Path.cwd().parents or target.is_symlink() or target.is_mount():
        raise BundleError(
            "a result is a folder of its own",
            got=str(target),
            wanted="no link, and not the folder you are in",
        )
    if target.exists() and not _is_bundle(target):
        raise BundleError(
            "the place for the result is taken", got=str(target), wanted="a new folder, or an older result"
        )
    return target


def _is_bundle(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    names = {entry.name for entry in folder.iterdir()}
    return not names or (names <= _FILES and bool(names & {_MODEL, _RECEIPT}))


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _swap(fresh: Path, target: Path) -> None:
    """Put the new folder in place; an old one is moved aside first and removed last."""
    old = target.parent / f".{target.name}.{uuid.uuid4().hex}.old"
    if target.exists():
        target.rename(old)
    fresh.rename(target)
    shutil.rmtree(old, ignore_errors=True)
    descriptor = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
