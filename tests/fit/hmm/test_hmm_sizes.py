"""Sequences of 1 to 100,000 symbols, alphabets to 10,000, 200 states: bounded memory, clear refusals."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from discreet.accounting.ledger import Ledger
from discreet.errors import DiscreetError, TooLargeError
from discreet.fit import CategoricalHMM

CODE = """
import resource, sys
import numpy as np
from discreet.fit import CategoricalHMM
states, symbols, longest = map(int, sys.argv[1:4])
lengths = np.array([1, 2, longest])
rows = np.random.default_rng(0).integers(0, symbols, lengths.sum())
model = CategoricalHMM(
    states, symbols, epsilon=1.0, delta=1e-6, max_length=longest, method="iterate", n_rounds=1
)
# pages of libraries are not what grows: a small fit of the same kind comes first
small = CategoricalHMM(2, 2, epsilon=1.0, delta=1e-6, max_length=2, method="iterate", n_rounds=1)
small.fit(np.array([0, 1, 0]), [1, 2])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.fit(rows, lengths)
assert np.allclose(model.emissionprob_.sum(axis=1), 1) and np.isfinite(model.transmat_).all()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**10)
"""

LONG = os.environ.get("DISCREET_LONG") == "1"
SIZES = [(3, 50, 100_000, 400.0), (2, 10_000, 300, 400.0), (200, 50, 10, 600.0)]
ALL_AT_ONCE = [(200, 10_000, 20, 1500.0)]


@pytest.mark.slow
@pytest.mark.parametrize(("states", "symbols", "longest", "most"), SIZES + (ALL_AT_ONCE if LONG else []))
def test_private_fits_of_large_models_and_long_sequences_stay_in_bounded_memory(
    states: int, symbols: int, longest: int, most: float
) -> None:
    sizes = [str(number) for number in (states, symbols, longest)]
    done = subprocess.run([sys.executable, "-c", CODE, *sizes], capture_output=True, text=True, check=True)
    assert float(done.stdout) < most, "MiB"


@pytest.mark.parametrize(
    ("states", "symbols", "longest", "method", "words"),
    [
        (200, 10_000, 100_000, "score", "too many parameters for their score"),
        (200, 10_000, 10_000_000, "iterate", "do not fit into memory"),
        (20_000, 10_000, 100, "iterate", "a model this large"),
        (200, 10_000, 100_000, "moments", "too many symbols to count windows"),
    ],
)
def test_what_is_too_large_is_refused_and_the_budget_is_untouched(
    states: int, symbols: int, longest: int, method: str, words: str, tmp_path: Path
) -> None:
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.budget("d", "sequence", 2.0, 1e-6)
    model = CategoricalHMM(
        states,
        symbols,
        epsilon=1.0,
        delta=1e-6,
        max_length=longest,
        method=method,
        ledger=ledger,
        dataset="d",
    )
    with pytest.raises(TooLargeError, match=words) as caught:
        model.fit(np.array([0, 1, 2]), [1, 2])
    assert isinstance(caught.value, DiscreetError) and caught.value.what
    assert not ledger.entries()
