"""`GaussianMixture`: the private mixture as a scikit-learn estimator."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn import exceptions
from sklearn.base import BaseEstimator, DensityMixin

from discreet.bundle import Bundle, load_bundle, save_bundle, tensor_digest
from discreet.errors import BundleError, DataError, NotFittedError, ParameterError
from discreet.fit.mixture import card, request
from discreet.fit.mixture.run import run
from discreet.models.mixture import Mixture
from discreet.randomness import bits_of, generator
from discreet.records.files import is_path
from discreet.records.table import make_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from discreet.accounting.guarantee import Guarantee
    from discreet.accounting.ledger import Ledger
    from discreet.fit.mixture.request import Request
    from discreet.randomness import RandomState
    from discreet.records import Engine

__all__ = ["KIND", "GaussianMixture"]

KIND = "gaussian-mixture"


class _Unfitted(NotFittedError, exceptions.NotFittedError):
    """Ours, and scikit-learn's."""


class GaussianMixture(DensityMixin, BaseEstimator):
    """A mixture of Gaussians fitted with differential privacy.

    **Reveals** the fitted mixture (and, for method "input", every noised row). **Costs** (epsilon, delta) for
    one row or one person, charged to ``ledger`` before noise is drawn. **Trusts** whoever runs the fit,
    except for method "input", which trusts nobody.

    Parameters
    ----------
    n_components: how many Gaussians.
    epsilon, delta: the budget; there is no default for epsilon. ``float("inf")`` is the plain fit, which is
        not private. ``delta`` may be left out only then, or for Laplace noise (delta 0).
    bounds=(low, high), or radius= and center=: where the data lie, as publicly known; one number or one a
        column. Rows outside are moved to the border. Plain fits may leave it out.
    covariance_type: "full", "tied", "diag" or "spherical".
    method: "joint" (default), "published" (DP-EM, for comparison) or "input" (each owner noises their row).
    noise: "gaussian" or "laplace".
    n_rounds: the number of refining rounds; by default a rule that looks at the request only.
    columns, person, rows_per_person, missing: as in `discreet.records.open_records`. With ``person`` the unit
        of privacy is the person: their rows share a total weight of ``rows_per_person``.
    reg_covar: the smallest variance, as a part of the squared half width (or radius) of the region.
    max_iter, tol: for the plain fit only: a private fit never stops early.
    ledger, dataset: what to charge, a `Ledger` or its path, and under which name.
    random_state: an integer makes a fit that can be repeated, and is marked *not private (seeded)*.
    engine: where the rows are summed; by default the threads of this machine.

    Attributes
    ----------
    weights_, means_, covariances_: as in scikit-learn. guarantee_, receipt_: what was promised and paid.
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        epsilon: float,
        delta: float | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        radius: float | None = None,
        center: ArrayLike = 0.0,
        covariance_type: str = "full",
        method: str = "joint",
        noise: str = "gaussian",
        n_rounds: int | None = None,
        columns: Sequence[str] | None = None,
        person: str | None = None,
        rows_per_person: float = 1.0,
        missing: str = "error",
        reg_covar: float = 1e-6,
        max_iter: int = 200,
        tol: float = 1e-4,
        ledger: Ledger | str | Path | None = None,
        dataset: str | None = None,
        random_state: RandomState = None,
        engine: Engine | None = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.radius = radius
        self.center = center
        self.covariance_type = covariance_type
        self.method = method
        self.noise = noise
        self.n_rounds = n_rounds
        self.columns = columns
        self.person = person
        self.rows_per_person = rows_per_person
        self.missing = missing
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.tol = tol
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state
        self.engine = engine

    def fit(
        self,
        X: Any,
        y: object = None,
        *,
        person: ArrayLike | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Fit to rows: an array, a data frame, an Arrow table, or paths of Parquet or CSV files.

        ``person`` holds one id a row when X is an array. Everything that can be wrong with the request or the
        rows is found before the ledger is charged; then the whole cost is charged; then noise is drawn.
        """
        wanted = self._request()
        self._forget()
        if y is not None and person is None and not wanted.plain:
            warnings.warn("y is ignored; to protect persons, give their ids as person=", stacklevel=2)
        foreign = is_path(X) or make_of(X) in ("pandas", "polars", "pyarrow")
        outcome = run(wanted, X if foreign else _array(self, X), person=person, progress=progress)
        self._keep(outcome.mixture)
        self.guarantee_ = outcome.guarantee
        self.receipt_ = outcome.receipt
        self.n_iter_ = outcome.rounds
        self.converged_ = outcome.converged
        self.n_features_in_ = outcome.mixture.dimension
        if outcome.named:
            self.feature_names_in_ = np.array(outcome.names, dtype=object)
        return self

    def plan(self, dimension: int) -> Guarantee:
        """What `fit` would promise for so many columns: nothing is read, drawn or spent."""
        return request.plan(self._request(), dimension).guarantee

    def score(self, X: ArrayLike, y: object = None) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The mean log-likelihood of points. It is computed from them: as private as they are."""
        return self._mixture().score(self._points(X))

    def score_samples(self, X: ArrayLike) -> NDArray[np.float64]:
        """The log-likelihood of each point."""
        return self._mixture().log_density(self._points(X))

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """The most likely component of each point."""
        return self._mixture().predict(self._points(X))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probability of each component, one row a point."""
        return self._mixture().responsibilities(self._points(X))

    def fit_predict(self, X: Any, y: object = None, *, person: ArrayLike | None = None) -> NDArray[np.intp]:
        """Fit, then the most likely component of each row: the labels are not private."""
        return self.fit(X, y, person=person).predict(X)

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Draw points from the released mixture, with their components; costs nothing."""
        if isinstance(n_samples, bool) or n_samples < 1:
            raise ParameterError("cannot draw so many points", got=n_samples, wanted="at least 1")
        return self._mixture().sample(n_samples, generator(bits_of(random_state)))

    def to_sklearn(self) -> Any:
        """A fitted `sklearn.mixture.GaussianMixture` with the released parameters and nothing else."""
        from sklearn.mixture import GaussianMixture as Plain

        mixture = self._mixture()
        plain = Plain(len(mixture.weights), covariance_type=self.covariance_type_)
        plain.weights_, plain.means_ = self.weights_.copy(), self.means_.copy()
        plain.covariances_ = self.covariances_.copy()
        plain.precisions_cholesky_ = card.precision_roots(mixture, self.covariance_type_)
        plain.n_features_in_ = mixture.dimension  # pyright: ignore[reportAttributeAccessIssue]
        plain.converged_, plain.n_iter_, plain.lower_bound_ = True, self.n_iter_, math.nan
        return plain

    def save(self, path: str | Path) -> Path:
        """Write the released model as a folder (see `discreet.bundle`); an older one there is replaced."""
        return save_bundle(path, self.to_bundle())

    def to_bundle(self) -> Bundle:
        """The released tensors, the description, the receipt and the model card."""
        self._mixture()
        tensors = self._tensors()
        digest = tensor_digest(tensors)
        if digest != self.receipt_["account"]["digest"]:
            raise BundleError(
                "the parameters are not those that were released",
                remedy="They were changed after the fit; only what was paid for can be saved.",
            )
        description = {
            "parameters": {
                "n_components": len(self.weights_),
                "covariance_type": self.covariance_type_,
                "method": self.receipt_["method"],
                "rounds": self.n_iter_,
            },
            "domain": self.receipt_["domain"],
            "guarantee": self.guarantee_.to_dict(),
        }
        words = card.write_card(description, self.guarantee_, digest)
        return Bundle(KIND, tensors, description, self.receipt_, words)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a released model back, bit for bit."""
        bundle = load_bundle(path, KIND)
        card.read_mixture(bundle)  # refuses what is none
        parameters, promised = card.read_description(bundle)
        model = cls(
            parameters["n_components"],
            epsilon=promised.epsilon,
            delta=promised.delta,
            covariance_type=parameters["covariance_type"],
            method=parameters["method"],
        )
        tensors = bundle.tensors
        model.weights_, model.means_ = tensors["weights"], tensors["means"]
        model.covariances_, model.covariance_type_ = tensors["covariances"], parameters["covariance_type"]
        model.guarantee_, model.receipt_ = promised, dict(bundle.receipt)
        model.n_iter_, model.converged_ = parameters["rounds"], True
        model.n_features_in_ = model.means_.shape[1]
        return model

    def _request(self) -> Request:
        names = {name for name in self.get_params(deep=False) if name != "random_state"}
        values = {name: getattr(self, name) for name in names}
        return request.check(request.Request(**values, bits=bits_of(self.random_state)))

    def _forget(self) -> None:
        """Drop an earlier result, so that a failed fit cannot pass for it."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _keep(self, mixture: Mixture) -> None:
        self.covariance_type_: str = self.covariance_type
        self.weights_, self.means_ = mixture.weights, mixture.means
        self.covariances_ = card.pack_covariances(mixture.covariances, self.covariance_type_)

    def _tensors(self) -> dict[str, NDArray[np.float64]]:
        return {"weights": self.weights_, "means": self.means_, "covariances": self.covariances_}

    def _mixture(self) -> Mixture:
        if not hasattr(self, "weights_"):
            raise _Unfitted("this mixture is not fitted yet", remedy="Call fit, or load a saved one.")
        full = card.unpack_covariances(self.covariances_, self.means_, self.covariance_type_)
        return Mixture(self.weights_, self.means_, full)

    def _points(self, X: ArrayLike) -> NDArray[np.float64]:
        from sklearn.utils.validation import validate_data

        self._mixture()
        rows: Any = X
        if hasattr(self, "feature_names_in_") and make_of(X) in ("pandas", "polars"):
            rows = rows[list(self.feature_names_in_)]
        points: Any = _without_values(partial(validate_data, self, rows, reset=False, dtype=np.float64))  # pyright: ignore[reportArgumentType]
        return points


def _array(model: GaussianMixture, X: Any) -> NDArray[np.float64]:
    """Rows given as an array, checked as scikit-learn's users expect; records check that they are finite."""
    from sklearn.utils.validation import validate_data

    return _without_values(partial(validate_data, model, X, dtype=np.float64, ensure_all_finite=False))


def _without_values(validate: Callable[[], Any]) -> Any:
    """Run a check of scikit-learn's; where numpy would quote a value that is no number, say only that."""
    try:
        return validate()
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
    raise DataError("the array is not made of numbers", remedy="Encode text as numbers, or leave it out.")
