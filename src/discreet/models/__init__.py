"""Plain probability: statistics in, parameters out. Knows nothing of privacy. Holds no rows."""
