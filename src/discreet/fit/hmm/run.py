"""Run a request: check the sequences, find the start, fit, hand over what may be shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from discreet.accounting.account import Account
from discreet.accounting.ledger import Ledger
from discreet.domain import declare_region
from discreet.fit.hmm.plain import fit_plain
from discreet.fit.hmm.request import plan
from discreet.fit.hmm.skeleton import read_skeleton
from discreet.fit.hmm.start import start_categorical, start_gaussian
from discreet.fit.hmm.words import tensors_of
from discreet.models.hmm import HMM
from discreet.randomness import generator

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.accounting.guarantee import Guarantee
    from discreet.fit.hmm.data import Sequences
    from discreet.fit.hmm.request import Request
    from discreet.fit.hmm.skeleton import Skeleton

__all__ = ["Outcome", "clip", "covariance_shape", "run"]


@dataclass(frozen=True)
class Outcome:
    """A released model with its papers."""

    model: HMM
    guarantee: Guarantee
    receipt: dict[str, Any]
    rounds: int
    converged: bool


def run(wanted: Request, data: Sequences, *, progress: Callable[[int, int], None] | None = None) -> Outcome:
    """Fit as requested to checked sequences."""
    from discreet.bundle import tensor_digest

    guarantee = plan(wanted)
    data = clip(wanted, data)
    skeleton = _skeleton(wanted, data)
    ledger = wanted.ledger
    if ledger is not None and not isinstance(ledger, Ledger):
        ledger = Ledger.open(ledger)
    start = _start(wanted, data, skeleton)
    account = Account(guarantee, ledger, wanted.dataset, "fit hmm, plain")
    fitted = fit_plain(
        start,
        data,
        wanted.max_iter,
        wanted.tol,
        fixed_start=skeleton.fixed.get("startprob"),
        fixed_transition=skeleton.fixed.get("transmat"),
        progress=progress,
    )
    tensors = tensors_of(fitted.model)
    account.close(tensor_digest(tensors))
    receipt = _receipt(wanted, account, fitted.rounds)
    return Outcome(fitted.model, guarantee, receipt, fitted.rounds, fitted.converged)


def _skeleton(wanted: Request, data: Sequences) -> Skeleton:
    states, size = wanted.n_states, wanted.n_mix
    shapes: dict[str, tuple[int | None, ...]] = {"startprob": (states,), "transmat": (states, states)}
    masks: dict[str, tuple[int, ...]] = {"startprob": (states,), "transmat": (states, states)}
    if wanted.family == "categorical":
        shapes["emissionprob"] = masks["emissionprob"] = (states, wanted.n_symbols)
        return read_skeleton(wanted.skeleton, wanted.fixed, shapes, masks)
    dimension = data.rows.shape[1]
    inner = (size,) if size > 1 else ()
    shapes["means"] = (states, *inner, dimension)
    shapes["covars"] = covariance_shape(wanted.covariance_type, states, size, dimension)
    masks |= {"means": (states,), "covars": (states,)}
    if size > 1:
        shapes["weights"] = masks["weights"] = (states, size)
    return read_skeleton(wanted.skeleton, wanted.fixed, shapes, masks)


def clip(wanted: Request, data: Sequences) -> Sequences:
    """The sequences as far as they were declared: points moved into the region, long ones shortened."""
    data = data.shortened(wanted.max_length)
    if wanted.radius is None and wanted.bounds is None:
        return data
    region = declare_region(data.rows.shape[1], bounds=wanted.bounds, radius=wanted.radius)
    rows = region.center + region.scale * region.to_unit(data.rows.T).T
    return replace(data, rows=rows)


def covariance_shape(kind: str, states: int, size: int, dimension: int) -> tuple[int, ...]:
    """The shape of hmmlearn's covars: of GMMHMM for mixtures, else of GaussianHMM."""
    inner = (size,) if size > 1 else ()
    return {
        "diag": (states, *inner, dimension),
        "full": (states, *inner, dimension, dimension),
        "tied": (states, dimension, dimension) if size > 1 else (dimension, dimension),
        "spherical": (states, *inner),
    }[kind]


def _start(wanted: Request, data: Sequences, skeleton: Skeleton) -> HMM:
    chain = skeleton.chain(wanted.n_states, wanted.topology)
    if wanted.family == "categorical":
        emission: Any = start_categorical(skeleton, wanted.n_states, wanted.n_symbols, generator(wanted.bits))
    else:
        emission = start_gaussian(
            skeleton,
            data,
            (wanted.n_states, wanted.n_mix),
            wanted.covariance_type,
            wanted.min_covar,
            wanted.bits,
            left_right=wanted.topology == "left-right",
        )
    return HMM(chain, emission)


def _receipt(wanted: Request, account: Account, rounds: int) -> dict[str, Any]:
    """What was asked, paid and used."""
    return {
        "job": f"fit hmm, {wanted.family} emissions",
        "method": "plain",
        "states": wanted.n_states,
        "symbols": wanted.n_symbols if wanted.family == "categorical" else None,
        "covariance_type": None if wanted.family == "categorical" else wanted.covariance_type,
        "n_mix": wanted.n_mix,
        "topology": wanted.topology,
        "max_length": wanted.max_length,
        "rounds": rounds,
        "account": account.receipt(),
        "versions": {name: version(name) for name in ("discreet", "numpy", "opendp", "dp-accounting")},
    }
