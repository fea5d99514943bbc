"""Run a request: check the sequences, find the start, fit, hand over what may be shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from discreet.accounting.account import Account
from discreet.accounting.ledger import Ledger
from discreet.domain import declare_region
from discreet.errors import ParameterError
from discreet.fit.hmm.plain import fit_plain
from discreet.fit.hmm.private import (
    Ready,
    check_noise,
    check_room,
    declared_frame,
    fit_private,
    hold,
)
from discreet.fit.hmm.request import plan
from discreet.fit.hmm.skeleton import read_skeleton
from discreet.fit.hmm.start import start_categorical, start_gaussian
from discreet.fit.hmm.task import Payment
from discreet.models.hmm import HMM
from discreet.models.parameters import tensors_of
from discreet.randomness import generator

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from discreet.accounting.guarantee import Guarantee
    from discreet.domain import Region
    from discreet.fit.hmm.data import Sequences
    from discreet.fit.hmm.request import Plan, Request
    from discreet.fit.hmm.skeleton import Skeleton
    from discreet.fit.hmm.task import Listen
    from discreet.models.chain import Chain

__all__ = ["Declared", "Outcome", "clip", "covariance_shape", "declare", "prepare", "run"]


@dataclass(frozen=True)
class Outcome:
    """A released model with its papers."""

    model: HMM
    guarantee: Guarantee
    receipt: dict[str, Any]
    rounds: int
    converged: bool


@dataclass(frozen=True)
class Declared:
    """What was declared about the model: its skeleton, where points lie, and where the chain starts."""

    skeleton: Skeleton
    region: Region | None
    chain: Chain


def run(
    wanted: Request,
    data: Sequences,
    *,
    person: Any = None,
    names: tuple[str, ...] | None = None,
    progress: Callable[[int, int], None] | None = None,
    listen: Listen | None = None,
) -> Outcome:
    """Fit as requested to checked sequences. ``person`` holds one id a sequence, ``names`` those of columns.

    Everything that can be wrong is found before the ledger is charged; then the whole cost is charged; then
    noise is drawn. ``listen`` is told every question and its noisy answer: for audits.
    """
    from discreet.bundle import tensor_digest

    declared = declare(wanted, data.rows.reshape(data.frames, -1).shape[1])
    skeleton, region = declared.skeleton, declared.region
    if wanted.plain:
        data = clip(data, region, wanted.max_length)
        planned = plan(wanted, labelled=data.labels is not None, by_person=person is not None)
        start = _start(wanted, data, skeleton, declared.chain)
        ready = None
    else:
        ready = prepare(wanted, data, declared, person=person, progress=progress)
        planned, start = ready.planned, None
    ledger = wanted.ledger
    if ledger is not None and not isinstance(ledger, Ledger):
        ledger = Ledger.open(ledger)
    account = Account(planned.guarantee, ledger, wanted.dataset, f"fit hmm, method {_shown(wanted, planned)}")
    if ready is None:
        assert start is not None
        fitted = fit_plain(
            start,
            data,
            wanted.max_iter,
            wanted.tol,
            fixed_start=skeleton.fixed.get("startprob"),
            fixed_transition=skeleton.fixed.get("transmat"),
            progress=progress,
        )
        model, rounds, converged = fitted.model, fitted.rounds, fitted.converged
    else:
        model = fit_private(ready, Payment(account, wanted.bits, listen))
        drawn = sum(event["drawn"] for event in account.receipt()["plan"])
        rounds, converged = drawn - 1, True
    account.close(tensor_digest(tensors_of(model)))
    receipt = _receipt(wanted, planned, account, rounds) | {"domain": _domain(wanted, planned, names, region)}
    return Outcome(model, planned.guarantee, receipt, rounds, converged)


def prepare(
    wanted: Request,
    data: Sequences,
    declared: Declared | None = None,
    *,
    person: Any = None,
    progress: Callable[[int, int], None] | None = None,
    factors: NDArray[np.float64] | None = None,
) -> Ready:
    """A private fit with everything checked that could be refused, before anything is charged or drawn.

    ``factors`` makes the weights of sequences smaller whose persons are in other fits, too.
    """
    planned = plan(wanted, labelled=data.labels is not None, by_person=person is not None)
    if data.weights is not None:
        raise ParameterError(
            "sample_weight is for plain fits",
            remedy="Private sequences weigh what sequences_per_person allows.",
        )
    dimension = data.rows.reshape(data.frames, -1).shape[1]
    declared = declared or declare(wanted, dimension)
    skeleton, region, chain = declared.skeleton, declared.region, declared.chain
    check_noise(wanted, planned, dimension)
    task = hold(wanted, data, person, region, progress, factors)
    if region is None:
        return Ready(wanted, planned, task, skeleton, chain, start=_start(wanted, data, skeleton, chain))
    frame = declared_frame(skeleton, wanted, region)
    return Ready(wanted, planned, task, skeleton, chain, region=region, frame=frame)


def clip(data: Sequences, region: Region | None, longest: int | None) -> Sequences:
    """The sequences as far as they were declared: long ones shortened, points moved into the region."""
    data = data.shortened(longest)
    if region is None:
        return data
    return replace(data, rows=region.center + region.scale * region.to_unit(data.rows.T).T)


def _shown(wanted: Request, planned: Plan) -> str:
    return "plain" if wanted.plain else planned.method


def declare(wanted: Request, dimension: int) -> Declared:
    """What a request says of the model, checked for rows of so many numbers; no sequence is needed for it."""
    skeleton = _skeleton(wanted, dimension)
    if not wanted.plain:
        check_room(wanted, dimension)
    return Declared(skeleton, _region(wanted, dimension), skeleton.chain(wanted.n_states, wanted.topology))


def _region(wanted: Request, dimension: int) -> Region | None:
    if wanted.family != "gaussian" or (wanted.bounds is None and wanted.radius is None):
        return None
    return declare_region(dimension, bounds=wanted.bounds, radius=wanted.radius, center=wanted.center)


def _skeleton(wanted: Request, dimension: int) -> Skeleton:
    states, size = wanted.n_states, wanted.n_mix
    shapes: dict[str, tuple[int | None, ...]] = {"startprob": (states,), "transmat": (states, states)}
    masks: dict[str, tuple[int, ...]] = {"startprob": (states,), "transmat": (states, states)}
    if wanted.family == "categorical":
        shapes["emissionprob"] = masks["emissionprob"] = (states, wanted.n_symbols)
        return read_skeleton(wanted.skeleton, wanted.fixed, shapes, masks)
    inner = (size,) if size > 1 else ()
    shapes["means"] = (states, *inner, dimension)
    shapes["covars"] = covariance_shape(wanted.covariance_type, states, size, dimension)
    masks |= {"means": (states,), "covars": (states,)}
    if size > 1:
        shapes["weights"] = masks["weights"] = (states, size)
    return read_skeleton(wanted.skeleton, wanted.fixed, shapes, masks)


def covariance_shape(kind: str, states: int, size: int, dimension: int) -> tuple[int, ...]:
    """The shape of hmmlearn's covars: of GMMHMM for mixtures, else of GaussianHMM."""
    inner = (size,) if size > 1 else ()
    return {
        "diag": (states, *inner, dimension),
        "full": (states, *inner, dimension, dimension),
        "tied": (states, dimension, dimension) if size > 1 else (dimension, dimension),
        "spherical": (states, *inner),
    }[kind]


def _start(wanted: Request, data: Sequences, skeleton: Skeleton, chain: Chain) -> HMM:
    """Where the fit starts; for symbols this looks at no data."""
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


def _domain(
    wanted: Request, planned: Plan, names: tuple[str, ...] | None, region: Region | None
) -> dict[str, Any]:
    """What the sequences are made of, as it was declared."""
    return {
        "columns": None if names is None else list(names),
        "sequence": wanted.sequence,
        "order": wanted.order,
        "person": planned.guarantee.person,
        "sequences_per_person": planned.guarantee.rows_per_person,
        "symbols": None if wanted.symbols is None else list(wanted.symbols),
        "region": None if region is None else region.to_dict(),
        "max_length": wanted.max_length,
    }


def _receipt(wanted: Request, planned: Plan, account: Account, rounds: int) -> dict[str, Any]:
    """What was asked, paid and used."""
    return {
        "job": f"fit hmm, {wanted.family} emissions",
        "method": _shown(wanted, planned),
        "noise": "none" if wanted.plain else wanted.noise,
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
