import threading

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.records import Chunk, LocalEngine


class Endless:
    """A part that would never end, and tells when somebody reads it."""

    def __init__(self):
        self.read = threading.Event()

    def chunks(self):
        while True:
            self.read.set()
            yield Chunk(np.zeros((1, 1)), None)


class Broken:
    def __init__(self, after):
        self.after = after

    def chunks(self):
        self.after.wait(10)
        raise OSError("broken")
        yield


def count(chunk, broadcast):
    return {"rows": np.ones(1, dtype=np.int64)}


@pytest.mark.timeout(30)
def test_a_failure_stops_what_other_workers_are_reading():
    endless = Endless()
    with pytest.raises(OSError, match="broken"):
        LocalEngine(2).map_reduce([Broken(endless.read), endless], count, None)


@pytest.mark.parametrize("workers", [0, -1, True])
def test_a_number_of_workers_below_one_is_refused(workers):
    with pytest.raises(ParameterError, match="workers"):
        LocalEngine(workers)


def test_an_unknown_kind_of_worker_is_refused():
    with pytest.raises(ParameterError, match="'threads' or 'processes'"):
        LocalEngine(kind="fibres")  # type: ignore[arg-type]


def test_closing_twice_is_fine():
    engine = LocalEngine(1, "processes")
    engine.close()
    engine.close()
