"""The protocol of docs/toolkit.md is run as it stands: two processes, real TLS, and what it prints."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.errors import ParameterError, ProtocolError
from discreet.protocols.step import run_pair
from discreet.randomness import secure

PAGE = (Path(__file__).parents[1] / "docs" / "toolkit.md").read_text()
CODE, *SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
PRINTED = re.search(r"```text\n(.*?)```", PAGE, flags=re.S).group(1)


@pytest.fixture
def overlap(tmp_path):
    """The page's protocol, imported from a file."""
    file = tmp_path / "overlap.py"
    file.write_text(CODE)
    spec = importlib.util.spec_from_file_location("overlap", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_protocol_of_the_page_has_less_than_sixty_lines():
    assert len(CODE.splitlines()) < 60


def test_the_protocol_of_the_page_runs_over_tls_in_two_processes(tmp_path):
    (tmp_path / "overlap.py").write_text(CODE)
    done = subprocess.run(
        [sys.executable, "overlap.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stderr == ""
    assert done.stdout == PRINTED


def test_the_snippets_of_the_page_run(overlap):
    without_network, attack, between = SNIPPETS
    names = dict(vars(overlap))
    exec(without_network, names)
    assert names["count"] == 1
    assert len(names["transcript"]) == 3
    exec(attack, names)
    compile(between, "docs/toolkit.md", "exec")


def test_the_protocol_of_the_page_refuses_what_it_must(overlap):
    agreed = {"clinic": 2, "registry": 1}
    with pytest.raises(ParameterError, match="not as many people"):
        run_pair(overlap.clinic(["ann"], agreed, secure()), overlap.registry(["bob"], agreed, secure()))
    with pytest.raises(ProtocolError, match="not a point"):
        overlap.blind(bytes(31) + b"\1", [b"\xff" * 32])
