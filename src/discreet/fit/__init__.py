"""Fit models of private rows. Trust: one curator, who sees the rows and runs the fit."""

from discreet.fit.mixture.estimator import GaussianMixture

__all__ = ["GaussianMixture"]
