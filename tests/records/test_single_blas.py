import threading

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from discreet.records import Chunk, LocalEngine, open_records
from discreet.records.blas import single_blas


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def count_threads(chunk: Chunk, broadcast: None) -> dict[str, np.ndarray]:
    return {"most": np.array([max(blas_threads())]), "chunks": np.ones(1, dtype=np.int64)}


def test_workers_of_the_engine_see_a_blas_of_one_thread() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        rows = open_records(np.zeros((3 * 2**18, 1)))
        for workers in (1, 2):
            seen = rows.map_reduce(count_threads, None, LocalEngine(workers))
            assert seen["most"] == seen["chunks"]
        assert blas_threads() == {2}


def test_the_last_holder_restores_the_threads_of_blas() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        first, second = single_blas(), single_blas()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2}


def test_an_error_restores_the_threads_of_blas() -> None:
    def fail() -> None:
        with single_blas():
            raise ArithmeticError

    with threadpool_limits(limits=2, user_api="blas"):
        caught: list[BaseException] = []

        def run() -> None:
            try:
                fail()
            except ArithmeticError as error:
                caught.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert caught
        assert blas_threads() == {2}
