"""`BayesianNetwork`: private parameters of a declared network, as an estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn import exceptions
from sklearn.base import BaseEstimator

from discreet.bundle import Bundle, load_bundle, save_bundle, tensor_digest
from discreet.errors import BundleError, NotFittedError
from discreet.fit.network import card, request
from discreet.fit.network.run import run
from discreet.models.bif import bif_text, write_bif
from discreet.randomness import bits_of
from discreet.records.codes import code_chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from discreet.accounting.guarantee import Guarantee
    from discreet.accounting.ledger import Ledger
    from discreet.fit.network.request import Request
    from discreet.models.network import Network
    from discreet.models.structure import Structure
    from discreet.randomness import RandomState

__all__ = ["BayesianNetwork"]


class _Unfitted(NotFittedError, exceptions.NotFittedError):
    """Ours, and scikit-learn's."""


class BayesianNetwork(BaseEstimator):
    """The tables of a Bayesian network, fitted with differential privacy to rows of declared states.

    **Reveals** a probability table for each node. **Costs** (epsilon, delta) for one row or one person,
    charged to ``ledger`` before noise is drawn. **Trusts** whoever runs the fit.

    The structure and the states are declared, never found in the rows; every table has its full shape,
    whatever occurs. All families are counted once, with one discrete Gaussian in every cell
    (`discreet.mechanisms.tables`); what follows is post-processing (`discreet.models.margins`).

    Parameters
    ----------
    structure: a BIF file, a `Structure`, or a `Network` (whose own tables are not used).
    epsilon, delta: the budget; there is no default. ``float("inf")`` is the plain fit, which is not private.
    prior: how many imaginary rows each configuration of parents gets, spread over the states of the node; 0
        (plain fits only) is maximum likelihood.
    person, rows_per_person: with ``person``, a column, the unit of privacy is the person, and of everybody
        the first ``rows_per_person`` rows count.
    missing: "refuse" rows with a missing value, "drop" them, or the name of the state that it stands for.
    ledger, dataset: what to charge, a `Ledger` or its path, and under which name.
    random_state: an integer makes a fit that can be repeated, and is marked *not private (seeded)*.

    Attributes
    ----------
    network_: the released `Network`. guarantee_, receipt_: what was promised and paid.
    """

    def __init__(
        self,
        structure: Structure | Network | str | Path,
        *,
        epsilon: float,
        delta: float | None = None,
        prior: float = 1.0,
        person: str | None = None,
        rows_per_person: int = 1,
        missing: str = "refuse",
        ledger: Ledger | str | Path | None = None,
        dataset: str | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.structure = structure
        self.epsilon = epsilon
        self.delta = delta
        self.prior = prior
        self.person = person
        self.rows_per_person = rows_per_person
        self.missing = missing
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: object = None,
        *,
        person: ArrayLike | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Fit to a table with a column for each node: a data frame, an Arrow table, a mapping, or files.

        ``person`` holds one id a row. Everything that can be wrong with the request or the rows is found
        before the ledger is charged; then the whole cost is charged; then noise is drawn.
        """
        wanted = self._request()
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)  # a failed fit must not pass for an earlier one
        outcome = run(wanted, X, person=person, progress=progress)
        self._keep(outcome.network, outcome.guarantee, outcome.receipt)
        return self

    def plan(self, *, by_person: bool | None = None) -> Guarantee:
        """What `fit` would promise: nothing is read, drawn or spent."""
        known = self.person is not None if by_person is None else by_person
        return request.plan(self._request(), by_person=known).guarantee

    def cpt(self, node: str) -> NDArray[np.float64]:
        """P[node | parents]: one axis a parent, the node's own axis last."""
        return self._network().cpt(node)

    def query(
        self, variables: Sequence[str], evidence: Mapping[str, str] | None = None
    ) -> NDArray[np.float64]:
        """P[variables | evidence] of the released network, one axis a variable; costs nothing."""
        return self._network().query(variables, evidence)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The log-probability of each row: as private as the rows are."""
        network = self._network()
        chunks = code_chunks(X, network.structure.states, missing=self.missing)
        return np.concatenate([np.zeros(0), *(network.log_probability(codes) for codes, _ in chunks)])

    def score(self, X: Any, y: object = None) -> float:
        """The mean log-probability of rows: as private as the rows are."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> dict[str, NDArray[np.str_]]:
        """Rows drawn from the released network: one array of states a node; costs nothing."""
        network = self._network()
        codes = network.sample(n_samples, bits_of(random_state))
        return {node: np.array(network.structure.states[node])[code] for node, code in codes.items()}

    def to_bif(self, path: str | Path) -> Path:
        """Write the released network as a BIF file, for other programs."""
        return write_bif(self._network(), path)

    def save(self, path: str | Path) -> Path:
        """Write the released model as a folder (see `discreet.bundle`); an older one there is replaced."""
        return save_bundle(path, self.to_bundle())

    def to_bundle(self) -> Bundle:
        """The released tensors, the description, the receipt, the model card and the BIF text."""
        network = self._network()
        if self.receipt_.get("job") == "joint network":
            raise BundleError(
                "a joint network is kept as its party wrote it",
                remedy="Copy the folder that it was loaded from, or use to_bif.",
            )
        tensors = card.tensors_of(network)
        digest = tensor_digest(tensors)
        if digest != self.receipt_["account"]["digest"]:
            raise BundleError(
                "the parameters are not those that were released",
                remedy="They were changed after the fit; only what was paid for can be saved.",
            )
        description = card.describe(network, self.guarantee_, self.receipt_)
        words = card.write_card(description, self.guarantee_, digest)
        pages = {"network.bif": bif_text(network)}
        return Bundle(card.KIND, tensors, description, self.receipt_, words, pages)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a released model back, bit for bit; also what a party kept of a joint network."""
        bundle = load_bundle(path)
        if bundle.kind == card.JOINT:
            return cls._of_parties(bundle)
        if bundle.kind != card.KIND:
            raise BundleError("the released model is of another kind", got=bundle.kind, wanted=card.KIND)
        network = card.read_network(bundle)
        parameters, domain, promised = card.read_description(bundle)
        model = cls(
            network.structure,
            epsilon=promised.epsilon,
            delta=promised.delta,
            prior=parameters["prior"],
            person=promised.person,
            rows_per_person=int(promised.rows_per_person or 1),
            missing=str(domain.get("missing", "refuse")),
        )
        model._keep(network, promised, dict(bundle.receipt))
        return model

    @classmethod
    def _of_parties(cls, bundle: Bundle) -> Self:
        network = card.read_network(bundle)
        prior, promised = card.read_joint(bundle)
        model = cls(network.structure, epsilon=promised.epsilon, delta=promised.delta, prior=prior)
        model._keep(network, promised, dict(bundle.receipt))
        return model

    def _request(self) -> Request:
        names = {name for name in self.get_params(deep=False) if name not in ("random_state", "structure")}
        values = {name: getattr(self, name) for name in names}
        structure = request.structure_of(self.structure)
        bits = bits_of(self.random_state)
        return request.check(request.Request(structure=structure, bits=bits, **values))

    def _keep(self, network: Network, guarantee: Guarantee, receipt: dict[str, Any]) -> None:
        self.network_, self.guarantee_, self.receipt_ = network, guarantee, receipt
        self.n_features_in_ = len(network.structure.nodes)
        self.feature_names_in_ = np.array(network.structure.nodes, dtype=object)

    def _network(self) -> Network:
        if not hasattr(self, "network_"):
            raise _Unfitted("this network is not fitted yet", remedy="Call fit, or load a saved one.")
        return self.network_
