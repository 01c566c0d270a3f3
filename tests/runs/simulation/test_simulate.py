"""The loop over time: literal gradient descent on the sampled problem, and what is recorded of it."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from example_run import assert_same_bits
from looping import looping
from tiny_run import FLOW, RATE, TINY, simulate

import mvsim
from mvsim.multi_view import diagnostics
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.runs.archive import read_run
from mvsim.runs.recording.hessian import HESSIAN_EVERY
from mvsim.runs.recording.variables import When, variables_of

WITH_SINGLE_POINTS = {"atoms": [0.5, 1.0], "probabilities": [0.6, 0.4]}
"""A law of lambda that mixes some points and leaves others alone."""


def test_canary_of_the_comparison():
    one, other = simulate("erm", steps=3), simulate("erm", steps=3)
    assert_same_bits(one.dataset, other.dataset)
    other.dataset["loss"][1] *= 1 + 1e-6
    with pytest.raises(AssertionError, match="loss"):
        assert_same_bits(one.dataset, other.dataset)


@looping("method", ["erm", "midpoint"])
def test_the_run_is_literal_gradient_descent_on_the_sampled_problem(method):
    p = mvsim.Parameters(**TINY)
    run = simulate(method, seed=3, steps=20)
    loss = mvsim.objective(method, p, mvsim.sample_dataset(p, seed=3))
    c = mvsim.initial_correlations(p, seed=3)
    states = {0: c}
    for step in range(1, 21):
        c = c - RATE * loss.gradient(c)
        states[step] = c
    assert np.array_equal(run.final_correlations, c)
    assert run.dataset["step"].values.tolist() == [0, *sorted({round(10 ** (j / 20)) for j in range(27)})]
    for step, time, value, own in zip(
        run.dataset["step"].values, run.dataset["time"].values, run.dataset["loss"].values, run.dataset["own_correlations"].values, strict=True
    ):
        assert time == RATE * step
        assert value == loss.loss_and_gradient(states[step])[0]
        assert np.array_equal(own, diagnostics.own_correlations(states[step]))
    assert run.dataset["snapshot_step"].values.tolist() == [0, 1, 2, 5, 10, 20]
    assert np.array_equal(run.dataset["correlations"].values[4], states[10])


def test_gradient_descent_dissipates_what_nobody_follows(tmp_path):
    run = simulate("erm", tmp_path / "run.nc", steps=3)
    assert np.isnan(run.dataset["dissipation"][1:]).all()
    kept, _ = read_run(tmp_path / "run.nc")
    assert "resume_step" in kept
    assert not any(str(name).startswith("memory_") for name in kept.variables)


def test_bits_do_not_depend_on_threads():
    assert_same_bits(simulate("midpoint", threads=1).dataset, simulate("midpoint", threads=2).dataset)


def test_pairs_drawn_each_step_differ_from_pairs_drawn_once():
    once, each = (simulate("mixup", pairs=7, redraw=redraw, steps=3) for redraw in ("once", "each step"))
    assert not np.array_equal(once.final_correlations, each.final_correlations)


def test_every_record_has_every_quantity_and_sharpness_now_and_then():
    run = simulate("midpoint")
    for name in variables_of(When.RECORD):
        assert run.dataset[name].sizes["time"] == run.dataset.sizes["time"], name
        if name not in ("sharpness", "turning_rate", "dissipation", "log_dissipation"):  # the last two are those of a flow
            assert np.isfinite(run.dataset[name].values).all(), name
    measured = np.flatnonzero(np.isfinite(run.dataset["sharpness"].values))
    assert measured.tolist() == list(range(0, run.dataset.sizes["time"], HESSIAN_EVERY))


def test_pairs_of_a_point_with_itself_are_named_where_they_matter(tmp_path):
    names = [[deviation["name"] for deviation in simulate(method, steps=1).provenance["regime"]] for method in ("erm", "midpoint")]
    assert [sum(name == "N" for name in found) for found in names] == [1, 2]  # both have few points for Proposition 4.4
    p = mvsim.Parameters(k=4, N=20_000)
    data = mvsim.sample_dataset(p, 0)
    assert mvsim.objective("midpoint", p, data).deviations() == []
    assert mvsim.objective("mixup", p, data, mixing=WITH_SINGLE_POINTS).deviations() == []
    few = mvsim.objective("mixup", mvsim.Parameters(**TINY), mvsim.sample_dataset(mvsim.Parameters(**TINY), 0), mixing=WITH_SINGLE_POINTS)
    assert [deviation.statement for deviation in few.deviations()] == [
        "N = 12: pairs of a point with itself make 11 % of the early growth, 0 for N -> infinity"
    ]


def test_every_method_can_be_simulated():
    for method in OBJECTIVES:
        assert simulate(method, steps=2).method == method


@looping(("method", "options"), [*((method, {}) for method in OBJECTIVES), ("mixup", {"mixing": WITH_SINGLE_POINTS})])
def test_a_flow_follows_every_method(method, options):
    run = simulate(method, steps=2000, d=6, **FLOW, **options)
    assert run.status == "finished"
    assert run.dataset["final_step"] > 10
    assert run.dataset["loss"][-1] < run.dataset["loss"][0]
    assert (run.dataset["active_neurons"][-1] > 0).any()  # there is a stiff part to precondition with


@pytest.mark.parametrize("noise", ["codebook", "patch"])
def test_the_readable_kernel_serves_the_test_of_feature_learning_too(noise, monkeypatch):
    def compiled(*arguments):
        raise AssertionError("a compiled kernel")

    for name in ("shared_noise.shared_noise_kernel.SharedNoiseKernel", "any_patches.any_patches_kernel.AnyPatchesKernel"):
        monkeypatch.setattr(f"mvsim.multi_view.kernels.{name}", compiled)
    p = mvsim.Parameters(k=2, N=3, noise=noise)
    mvsim.simulate(p, "erm", backend="numpy", integrator="gd", t_end=1.0, eta=1.0, n_test=2)
    with pytest.raises(AssertionError, match="a compiled kernel"):
        mvsim.simulate(p, "erm", backend="numba", integrator="gd", t_end=1.0, eta=1.0, n_test=2)


def test_no_thread_but_those_of_the_loops_outlives_a_run():
    before = set(threading.enumerate())
    for _ in range(20):
        mvsim.simulate(mvsim.Parameters(k=3, m=2, N=6), "erm", t_end=5.0, n_test=1, threads=1)
        assert not [one.name for one in set(threading.enumerate()) - before if not one.name.startswith("mvsim_")]
