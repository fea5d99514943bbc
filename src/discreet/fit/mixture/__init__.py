"""Private Gaussian mixtures, from the request to the estimator."""
