"""Hidden Markov models: what is wanted, where a fit starts, the plain fit, and the estimators."""
