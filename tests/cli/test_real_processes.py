"""The command as a process: how fast it answers, what an interruption leaves, what a defect may say."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.accounting.ledger import Ledger

HEAVY = [
    "numpy",
    "pyarrow",
    "sklearn",
    "opendp",
    "matplotlib",
    "scipy",
    "dp_accounting",
    "pandas",
]


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom discreet.cli import main\nsys.argv = ['discreet', 'fit', 'mixture', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("discreet ")


def test_a_terminal_without_our_letters_gets_question_marks(tmp_path: Path):
    Ledger.create(tmp_path / "ledger").budget("a", "row", 2.0, 1e-6)
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "ledger", "show", "ledger"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert "? 0.0% spent in 0 runs" in done.stdout


def test_an_interruption_is_clean_and_what_was_charged_stays_charged(tmp_path: Path):
    draw = np.random.default_rng(0)
    data, book = tmp_path / "rows.parquet", tmp_path / "ledger"
    pq.write_table(pa.table({"x": draw.normal(size=300_000), "y": draw.normal(size=300_000)}), data)
    Ledger.create(book).budget("a", "row", 2.0, 1e-6)
    words = "fit mixture rows.parquet --components 30 --epsilon 1 --delta 1e-6 --bounds=-4:4 --rounds 190"
    process = subprocess.Popen(
        [sys.executable, "-m", "discreet", *words.split(), "--ledger", "ledger", "--out", "out"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    waited = time.monotonic() + 60
    while not Ledger.open(book).entries() and time.monotonic() < waited:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert "stays charged" in err
    assert "Traceback" not in err
    (entry,) = Ledger.open(book).entries()
    assert entry.digest is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger", "rows.parquet"]


def test_a_defect_tells_where_but_quotes_no_value():
    code = (
        "import discreet.jobs.game as game\n"
        "def broken(*args, **options): raise ZeroDivisionError('secret 42.4242')\n"
        "game.play = broken\n"
        "import sys; sys.argv = ['discreet', 'audit', 'game']\n"
        "from discreet.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert "game.py" in done.stderr
    assert "42.4242" not in done.stdout + done.stderr
    told = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "DISCREET_TRACEBACK": "1"},
    )
    assert "42.4242" in told.stderr
