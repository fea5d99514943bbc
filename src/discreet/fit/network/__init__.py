"""Bayesian networks of private rows: one noisy count of every family, then post-processing."""
