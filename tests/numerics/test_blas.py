"""One thread for BLAS, whoever asks for it and in whatever order they leave."""

import threading

import pytest
import scipy.linalg  # noqa: F401 - loads a second BLAS
from threadpoolctl import threadpool_info, threadpool_limits

import mvsim
from mvsim.numerics import blas_threads as blas
from mvsim.numerics.blas_threads import library_was_loaded, one_blas_thread


@pytest.fixture(autouse=True)
def several_threads():
    """Three threads for every BLAS before a test, whatever the tests around it have and whatever the machine has."""
    with threadpool_limits(3, user_api="blas"):
        assert set(numbers()) == {3}
        yield


def numbers():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def together(work):
    """Run it in three Python threads at once."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_within_the_block_there_is_one_and_afterwards_what_there_was():
    before = numbers()
    with one_blas_thread():
        assert set(numbers()) == {1}
        with one_blas_thread():
            assert set(numbers()) == {1}
        assert set(numbers()) == {1}
    assert numbers() == before


def test_blocks_that_overlap_in_threads_leave_what_there_was():
    before, barrier = numbers(), threading.Barrier(3)

    def work(number):
        for _ in range(20):
            with one_blas_thread():
                barrier.wait()

    together(work)
    assert numbers() == before


def test_flows_in_threads_leave_what_there_was():
    before, p = numbers(), mvsim.Parameters(k=3, m=2, N=20)
    together(lambda seed: mvsim.simulate(p, "erm", seed=seed, t_end=500.0, threads=1, n_test=2))
    assert numbers() == before


def test_a_library_that_is_loaded_later_is_known_once_that_is_told():
    before, limit = numbers(), blas._limit()
    assert len(before) >= 2
    limit._libraries = limit._libraries[:1]
    library_was_loaded()
    with one_blas_thread():
        assert set(numbers()) == {1}
    assert numbers() == before
