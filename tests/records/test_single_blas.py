from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from discreet.records import Chunk, LocalEngine, open_records
from discreet.records.blas import single_blas


def blas_threads() -> int:
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


def count_threads(chunk: Chunk, broadcast: Any) -> dict[str, Any]:
    return {"threads": np.array([blas_threads()]), "chunks": np.ones(1, dtype=np.int64)}


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_of_the_engine_see_a_blas_of_one_thread(workers: int) -> None:
    rows = open_records(np.zeros((3 * 2**18, 1)))
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        seen = rows.map_reduce(count_threads, None, LocalEngine(workers))
        assert seen["threads"] == seen["chunks"]
        assert blas_threads() == before


def test_an_error_restores_the_threads_of_blas() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(ArithmeticError), single_blas():
            raise ArithmeticError
        assert blas_threads() == before


def test_whoever_leaves_first_leaves_the_limit_to_the_others() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        first, second = single_blas(), single_blas()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == 1
        second.__exit__(None, None, None)
        assert blas_threads() == before
