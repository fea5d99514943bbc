"""Fit models of private rows. Trust: one curator, who sees the rows and runs the fit."""

from discreet.fit.hmm.estimator import CategoricalHMM, GaussianHMM
from discreet.fit.mixture.estimator import GaussianMixture
from discreet.fit.network.estimator import BayesianNetwork
from discreet.fit.words.estimator import WordModels

__all__ = ["BayesianNetwork", "CategoricalHMM", "GaussianHMM", "GaussianMixture", "WordModels"]
