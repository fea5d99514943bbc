"""Primitives: dangerous alone. Each file says what it assumes, what it does not protect, and how hard it is
to break.

`protocols` puts them together so that what goes out is fresh and what comes in is checked; prefer those.
"""
