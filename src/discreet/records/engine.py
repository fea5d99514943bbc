"""Where work is done: the one seam, `Engine.map_reduce`, and the engine of this machine.

Whatever engine runs it, a result is the same: integers are summed exactly; floats are summed chunk by chunk
within a part and then part by part in the order of the parts, never in the order in which workers finish.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np

from discreet.errors import ParameterError
from discreet.records.blas import single_blas
from discreet.statistic import Totals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from discreet.records.chunk import Chunk, Part

    MapFunction = Callable[[Chunk, Any], Mapping[str, NDArray[Any]]]

__all__ = ["Engine", "LocalEngine", "add_totals", "sum_part"]


class Engine(Protocol):
    """The seam that cluster engines join: map every chunk of every part, and add what comes back.

    **Trusts** every worker with the rows: an engine is one trust domain, never the border between parties.

    The contract, which `tests/contracts/test_engine_contract.py` holds every engine to: each part is read
    and added exactly once; ``broadcast`` arrives unchanged; exceptions of the function or of a part come
    back as they are; integer sums are exact and float sums do not depend on the number of workers.
    """

    def map_reduce(
        self, parts: Sequence[Part], function: MapFunction, broadcast: Any
    ) -> dict[str, NDArray[Any]]:
        """Sum ``function(chunk, broadcast)`` over all chunks, name by name.

        ``function`` is pure and returns int64 arrays (exact sums) or float64 arrays (sums in fixed order).
        """
        ...


class LocalEngine:
    """Threads (or processes) of this machine; by default as many as it has processors.

    Processes need parts and functions that can be pickled, and are started once for the life of the engine:
    use it as a context manager, or call `close`.
    """

    def __init__(self, workers: int | None = None, kind: Literal["threads", "processes"] = "threads") -> None:
        if kind not in ("threads", "processes"):
            raise ParameterError("unknown kind of worker", got=kind, wanted="'threads' or 'processes'")
        if workers is not None and (isinstance(workers, bool) or workers < 1):
            raise ParameterError("the number of workers is out of range", got=workers, wanted="at least 1")
        self.workers = workers or os.cpu_count() or 1
        self.kind = kind
        self._processes: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker processes, if there are any."""
        if self._processes is not None:
            self._processes.shutdown(cancel_futures=True)
            self._processes = None

    def map_reduce(
        self, parts: Sequence[Part], function: MapFunction, broadcast: Any
    ) -> dict[str, NDArray[Any]]:
        """Sum ``function(chunk, broadcast)`` over all chunks of all parts."""
        if self.kind == "processes":
            return self._on_processes(parts, function, broadcast)
        workers = min(self.workers, len(parts))
        if workers <= 1:
            return add_totals(sum_part(part, function, broadcast) for part in parts)
        with single_blas():
            return self._on_threads(workers, parts, function, broadcast)

    def _on_threads(
        self, workers: int, parts: Sequence[Part], function: MapFunction, broadcast: Any
    ) -> dict[str, NDArray[Any]]:
        stop = threading.Event()

        def sum_until_stopped(part: Part) -> dict[str, NDArray[Any]]:
            return sum_part(part, function, broadcast, stop)

        with ThreadPoolExecutor(workers, thread_name_prefix="records") as pool:
            try:
                return _collect(pool, [pool.submit(sum_until_stopped, part) for part in parts])
            finally:
                stop.set()  # after a failure: nobody needs what the others are still reading

    def _on_processes(
        self, parts: Sequence[Part], function: MapFunction, broadcast: Any
    ) -> dict[str, NDArray[Any]]:
        if self._processes is None:
            # a fork would copy the locks that threads of Arrow and BLAS happen to hold
            self._processes = ProcessPoolExecutor(self.workers, mp_context=get_context("spawn"))
        pool = self._processes
        return _collect(pool, [pool.submit(sum_part, part, function, broadcast) for part in parts])


def sum_part(
    part: Part, function: MapFunction, broadcast: Any, stop: threading.Event | None = None
) -> dict[str, NDArray[Any]]:
    """Read one part and add up what the function makes of its chunks, in their order."""
    totals = Totals()
    with single_blas():
        for chunk in part.chunks():
            if stop is not None and stop.is_set():
                break
            totals.add(_checked(function(chunk, broadcast)))
    return totals.result()


def add_totals(sums: Iterable[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Add the sums of parts in the order in which they come."""
    totals = Totals()
    for values in sums:
        totals.add(values)
    return totals.result()


def _collect(pool: Executor, futures: list[Future[dict[str, NDArray[Any]]]]) -> dict[str, NDArray[Any]]:
    try:
        return add_totals(future.result() for future in futures)
    finally:
        for future in futures:
            future.cancel()


def _checked(values: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    for name, array in values.items():
        dtype: Any = getattr(array, "dtype", None)
        if dtype != np.int64 and dtype != np.float64:
            raise ParameterError(
                f"the map function returned something else for {name!r}",
                got=str(dtype or type(array).__name__),
                wanted="an int64 or float64 array",
            )
    return values
