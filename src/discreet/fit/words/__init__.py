"""Word models: one hidden Markov model a word, plain or private, on one budget for all of them."""
