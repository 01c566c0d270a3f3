"""The loss and gradient of all pairs in one compiled call: its threads, its exponentials, and what it does beyond their range."""

import threading

import numpy as np
import pytest
from compare import assert_close
from looping import looping
from tolerances import ROUNDOFF

import mvsim
from mvsim.multi_view.kernels.jit.loops.exponential import exponentiate
from mvsim.multi_view.kernels.jit.loops.work_list import mark_done, take, wait_for
from mvsim.multi_view.kernels.jit.threads import run_together

STEPS, ITEMS = 3, 50


def counting(times):
    """Work that counts how often every item is taken, and checks that no step begins before the last one has ended."""

    def work(counters):
        for step in range(STEPS):
            item = take(counters, step)
            while item < ITEMS:
                if step > 0:
                    assert (times[step - 1] == 1).all()
                times[step, item] += 1
                mark_done(counters, step)
                item = take(counters, step)
            wait_for(counters, step, ITEMS)

    return work


@looping("threads", [1, 2, 5])
def test_every_item_is_taken_once(threads):
    times = np.zeros((STEPS, ITEMS), int)
    run_together(threads, counting(times))
    assert (times == 1).all()


def test_many_callers_share_the_threads():
    times = [np.zeros((STEPS, ITEMS), int) for _ in range(8)]
    callers = [threading.Thread(target=run_together, args=(3, counting(counts))) for counts in times]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60.0)
    assert not any(caller.is_alive() for caller in callers)
    assert all((counts == 1).all() for counts in times)


@looping("fails_in_the_caller", [True, False])
def test_nobody_waits_for_a_thread_that_failed(fails_in_the_caller):
    caller, both_began = threading.get_ident(), threading.Barrier(2)

    def work(counters):
        both_began.wait(60.0)
        take(counters, 0)  # and never say that it is done
        if (threading.get_ident() == caller) == fails_in_the_caller:
            raise MemoryError("none left")
        wait_for(counters, 0, 2)

    with pytest.raises(MemoryError, match="none left"):
        run_together(2, work)


def test_exponentials_are_right_to_two_units_in_the_last_place():
    x = np.concatenate([np.random.default_rng(0).uniform(-700.0, 700.0, 20_000), [0.0, -0.0, 1e-300, -1e-17, 700.0, -700.0]])
    expected = np.exp(x)
    exponentiate(x)
    np.testing.assert_array_max_ulp(x, expected, 2)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_with_and_without_the_compiled_call(scale, monkeypatch):
    """At scale 1e4 outputs are too large for exponentials of their parts."""
    p = mvsim.Parameters(k=4, m=3, N=24, P=16)
    data = mvsim.sample_dataset(p, 0)
    c = scale * p.rho * np.random.default_rng(0).standard_normal((4, 3, 4, 2))
    loss, gradient = mvsim.objective("midpoint", p, data, backend="numba", threads=2).loss_and_gradient(c)
    monkeypatch.setattr("mvsim.multi_view.kernels.shared_noise.softmax_sum.SoftmaxSum.in_one_call", None)
    general_loss, general_gradient = mvsim.objective("midpoint", p, data, backend="numba", threads=2).loss_and_gradient(c)
    assert_close(loss, general_loss, ROUNDOFF)
    assert_close(gradient, general_gradient, ROUNDOFF)
    largest = mvsim.objective("erm", p, data).outputs(c).max()
    assert (largest > 300.0) == (scale > 1.0)
